// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readPod } from "../registry/pod-reading.js"
import { injectPod, type PodInjection } from "./inject-pod.js"
import { patched } from "./testing/apply-patch.js"
import { app, ENABLED, injected, names, OPTIONS, outcome, pod, type TestPod, variable } from "./testing/pods.js"

describe("the choice of Pods", () => {
  const labelled = (value: string) => pod({}, { labels: { "sidecar.merlon.dev/inject": value } })
  it.each<[string, TestPod, { namespace: string; namespaceOptedIn: boolean }, PodInjection["outcome"]]>([
    ["a pod of a labelled namespace", pod(), ENABLED, "injected"],
    ["a pod of another namespace", pod(), { namespace: "foo", namespaceOptedIn: false }, "skipped"],
    ["one that opts out", labelled("false"), ENABLED, "skipped"],
    ["one that opts in", labelled("true"), { namespace: "foo", namespaceOptedIn: false }, "injected"],
    ["one with an unknown label value", labelled("yes"), ENABLED, "injected"],
    [
      "one of kube-system, even by label",
      labelled("true"),
      { namespace: "kube-system", namespaceOptedIn: true },
      "skipped",
    ],
    ["one of the root namespace", pod(), { namespace: "merlon-system", namespaceOptedIn: true }, "skipped"],
    ["one on the node's network", pod({ hostNetwork: true }), ENABLED, "skipped"],
  ])("%s", (_, object, place, expected) => {
    expect(outcome(injectPod(object, place, OPTIONS))).toBe(expected)
  })

  it("warns about an unknown label value", () => {
    const result = injectPod(labelled("yes"), ENABLED, OPTIONS)
    expect(result).toMatchObject({ warnings: [expect.stringContaining("`sidecar.merlon.dev/inject` is ignored")] })
  })

  it("uses the mesh's own label", () => {
    const options = { ...OPTIONS, names: meshNames({ mesh: "dubbo", domain: "dubbo.apache.org" }) }
    const out = pod({}, { labels: { "sidecar.dubbo.apache.org/inject": "false" } })
    expect(outcome(injectPod(out, ENABLED, options))).toBe("skipped")
    const result = injectPod(pod(), ENABLED, options)
    const text = JSON.stringify(result)
    expect(text).toContain("dubbo-xserver")
    expect(text).toContain("dubbo-ca")
    expect(text).not.toContain("merlon.dev")
  })
})

describe("an injected proxy", () => {
  it("is an xserver as the first container, from port 15080, without privileges", () => {
    const ports = [
      { containerPort: 8080 },
      { containerPort: 53, protocol: "UDP" },
      { containerPort: 9090, name: "grpc" },
    ]
    const { after } = injected(
      pod({
        containers: [app({ ports }), app({ name: "two", ports: [{ containerPort: 8080 }, { containerPort: 7000 }] })],
      }),
    )
    const [xserver, ...rest] = after.spec.containers
    expect(rest.map(({ name }) => name)).toEqual(["app", "two"])
    expect(xserver).toMatchObject({
      name: "merlon-xserver",
      image: "merlond:1",
      args: ["xserver", "--bootstrap", "/var/run/secrets/merlon.dev/bootstrap.json"],
      ports: [{ containerPort: 15080 }, { containerPort: 15081 }, { containerPort: 15082 }, { containerPort: 15021 }],
      readinessProbe: { httpGet: { path: "/healthz/ready", port: 15021 } },
      startupProbe: { httpGet: { path: "/healthz/ready", port: 15021 } },
      securityContext: {
        runAsUser: 1337,
        runAsNonRoot: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
        seccompProfile: { type: "RuntimeDefault" },
      },
    })
    expect(JSON.parse(after.metadata.annotations?.["merlon.dev/ports"] ?? "")).toEqual([
      { port: 8080, listen: 15080 },
      { port: 9090, name: "grpc", listen: 15081 },
      { port: 7000, listen: 15082 },
    ])
    expect(after.metadata.annotations).toMatchObject({ "merlon.dev/proxy": "xserver", "merlon.dev/injected": "3" })
    expect(after.metadata).toMatchObject({
      labels: { "merlon.dev/capture": "redirect" },
      annotations: { "kubectl.kubernetes.io/default-container": "app" },
    })
  })

  it("has its credentials in one volume: bootstrap, token for the mesh, trust bundle", () => {
    const { after } = injected(pod({ volumes: [{ name: "theirs" }] }))
    expect(after.spec.volumes?.map(({ name }) => name)).toEqual(["theirs", "merlon-credentials", "merlon-state"])
    expect(after.spec.volumes?.[1]?.projected).toEqual({
      sources: [
        {
          downwardAPI: {
            items: [
              { path: "bootstrap.json", fieldRef: { fieldPath: "metadata.annotations['merlon.dev/bootstrap']" } },
              {
                path: "outbound.json",
                fieldRef: { fieldPath: "metadata.annotations['merlon.dev/outbound-bootstrap']" },
              },
            ],
          },
        },
        { serviceAccountToken: { audience: "merlon-ca", expirationSeconds: 43200, path: "token" } },
        { configMap: { name: "merlon-ca-root-cert", items: [{ key: "root-cert.pem", path: "root-cert.pem" }] } },
      ],
    })
    expect(JSON.parse(after.metadata.annotations?.["merlon.dev/bootstrap"] ?? "")).toEqual({
      mesh: { name: "merlon", domain: "merlon.dev" },
      controlPlane: { address: "merlond.merlon-system.svc:15012", serverName: "merlond.merlon-system.svc" },
      workload: {
        namespace: variable("POD_NAMESPACE"),
        name: variable("POD_NAME"),
        serviceAccount: variable("SERVICE_ACCOUNT"),
      },
      trustBundle: "/var/run/secrets/merlon.dev/root-cert.pem",
      token: "/var/run/secrets/merlon.dev/token",
      address: variable("POD_IP"),
      listen: "::",
      application: "127.0.0.1",
      applicationFallback: `::1,${variable("POD_IPS")}`,
      state: "/var/lib/merlon",
    })
    const env = after.spec.containers[0]?.env as readonly { readonly name: string }[] // our own format
    const ofPod = ["POD_NAME", "POD_NAMESPACE", "POD_IP", "POD_IPS", "SERVICE_ACCOUNT"]
    expect(env.map(({ name }) => name)).toEqual(ofPod)
  })

  it("may be a native sidecar, and redirects before other containers start", () => {
    const before = pod({ initContainers: [{ name: "theirs" }] })
    const { after } = injected(before, { nativeSidecar: true })
    expect(after.spec.containers.map(({ name }) => name)).toEqual(["app"])
    expect(after.spec.initContainers).toMatchObject([
      {
        name: "merlon-init",
        args: ["capture", "--map", "8080:15080"],
        securityContext: { capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } },
      },
      { name: "merlon-xserver", restartPolicy: "Always" },
      { name: "theirs" },
    ])
    const byService = injected(before, { capture: "service" })
    expect(byService.after.spec.initContainers?.map(({ name }) => name)).toEqual(["theirs"])
  })

  it("is recognised by the registry", () => {
    const { after } = injected(
      pod({ containers: [app({ readinessProbe: { httpGet: { port: "http", path: "/up?x" } } })] }),
    )
    const facts = readPod({ ...after, metadata: { ...after.metadata, namespace: "foo" } }, names, () => {
      throw new Error("nothing to warn of")
    })
    expect(facts).toMatchObject({
      proxied: true,
      ports: [{ port: 8080, listen: 15080, name: "http" }],
      probes: { "/app-health/app/readyz": { kind: "http", port: 8080, path: "/up?x", headers: {}, timeoutMs: 1000 } },
    })
  })

  it("is the same after a second injection, for any Pod", () => {
    const port = fc.record({
      containerPort: fc.integer({ min: 1, max: 14_000 }),
      protocol: fc.constantFrom("TCP", "UDP", undefined),
    })
    const containers = fc.array(fc.record({ name: fc.string(), ports: fc.array(port, { maxLength: 4 }) }), {
      maxLength: 4,
    })
    fc.assert(
      fc.property(containers, fc.boolean(), fc.constantFrom("redirect", "service"), (list, nativeSidecar, capture) => {
        const options = { ...OPTIONS, nativeSidecar, capture }
        const before = pod({ containers: list })
        const result = injectPod(before, ENABLED, options)
        if (result.outcome !== "injected") return result.outcome === "rejected"
        return injectPod(patched(before, result.patch), ENABLED, options).outcome === "skipped"
      }),
    )
  })

  it("overwrites existing annotations of the Pod", () => {
    const annotations = { "merlon.dev/probes": "forged", "merlon.dev/injected": "1", theirs: "kept" }
    const { after } = injected(pod({}, { annotations }))
    expect(after.metadata.annotations).toMatchObject({ theirs: "kept", "merlon.dev/probes": "{}" })
  })
})

describe("Pods that are rejected or warned about", () => {
  const ports = (...numbers: number[]) =>
    pod({ containers: [app({ ports: numbers.map(containerPort => ({ containerPort })) })] })
  it.each([15000, 15021, 15080, 15099, 1337])("a port %i, which belongs to xserver", port => {
    expect(injectPod(ports(8080, port), ENABLED, OPTIONS)).toEqual({
      outcome: "rejected",
      because: `the ports ${port} are reserved for xserver; change it, or set the label \`sidecar.merlon.dev/inject: "false"\``,
    })
  })

  it("more than 20 ports", () => {
    const twenty = Array.from({ length: 20 }, (_, at) => 8000 + at)
    expect(outcome(injectPod(ports(...twenty), ENABLED, OPTIONS))).toBe("injected")
    expect(injectPod(ports(...twenty, 9000), ENABLED, OPTIONS)).toMatchObject({
      outcome: "rejected",
      because: expect.stringContaining("21 ports"),
    })
  })

  it("a volume of the same name", () => {
    expect(outcome(injectPod(pod({ volumes: [{ name: "merlon-credentials" }] }), ENABLED, OPTIONS))).toBe("rejected")
  })

  it("no port at all", () => {
    expect(injected(ports()).warnings).toEqual([expect.stringContaining("no container declares a TCP port")])
  })

  it("a Pod that completes, with a sidecar that does not", () => {
    const job = pod({ restartPolicy: "Never" })
    expect(injected(job).warnings).toEqual([expect.stringContaining("never completes")])
    expect(injected(job, { nativeSidecar: true }).warnings).toEqual([])
  })

  it("never throws, for any Pod", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (spec, value) => {
        injectPod({ spec, metadata: value }, ENABLED, OPTIONS)
        injectPod(
          { spec: { containers: [value, { name: value, ports: spec, readinessProbe: value }] } },
          ENABLED,
          OPTIONS,
        )
      }),
    )
  })
})
