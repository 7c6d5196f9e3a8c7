// SPDX-License-Identifier: Apache-2.0
// Injection of probes and of containers that call through the mesh, and namespaces that require injection.

import { describe, expect, it } from "vitest"
import { injectPod } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import { app, ENABLED, injected, OPTIONS, outcome, pod } from "./testing/pods.js"

describe("probes", () => {
  const probed = (field: string, probe: object) => injected(pod({ containers: [app({ [field]: probe })] }))
  it.each<[string, string, object, string, object]>([
    [
      "http by number, with headers and timing",
      "livenessProbe",
      {
        httpGet: { port: 8080, path: "/live", httpHeaders: [{ name: "Host", value: "x" }] },
        timeoutSeconds: 3,
        periodSeconds: 7,
      },
      "livez",
      { kind: "http", port: 8080, path: "/live", headers: { Host: "x" }, timeoutMs: 3000 },
    ],
    [
      "http by name",
      "readinessProbe",
      { httpGet: { port: "http" } },
      "readyz",
      { kind: "http", port: 8080, path: "/", headers: {}, timeoutMs: 1000 },
    ],
    [
      "tcp",
      "startupProbe",
      { tcpSocket: { port: "http" } },
      "startupz",
      { kind: "tcp", port: 8080, path: "", headers: {}, timeoutMs: 1000 },
    ],
    [
      "grpc",
      "readinessProbe",
      { grpc: { port: 9000, service: "shop.Cart" } },
      "readyz",
      { kind: "grpc", port: 9000, path: "shop.Cart", headers: {}, timeoutMs: 1000 },
    ],
    [
      "https",
      "readinessProbe",
      { httpGet: { port: 8443, scheme: "HTTPS" } },
      "readyz",
      { kind: "https", port: 8443, path: "/", headers: {}, timeoutMs: 1000 },
    ],
  ])("of %s are sent by xserver", (_, field, probe, suffix, expected) => {
    const { after } = probed(field, probe)
    const path = `/app-health/app/${suffix}`
    const { httpGet: _h, tcpSocket: _t, grpc: _g, ...timing } = probe as Record<string, unknown> // any of the three
    expect(after.spec.containers[1]?.[field]).toEqual({ ...timing, httpGet: { path, port: 15021, scheme: "HTTP" } })
    expect(JSON.parse(after.metadata.annotations?.["merlon.dev/probes"] ?? "")).toEqual({ [path]: expected })
  })

  it.each<[string, object]>([
    ["a command", { exec: { command: ["true"] } }],
    ["another host's address", { httpGet: { port: 80, host: "10.0.0.1" } }],
    ["an undeclared name", { httpGet: { port: "nope" } }],
  ])("of %s are not changed", (_, probe) => {
    expect(probed("readinessProbe", probe).after.spec.containers[1]?.readinessProbe).toEqual(probe)
  })

  it("do not include hooks, which any caller could trigger at xserver", () => {
    const lifecycle = {
      preStop: { httpGet: { port: "http", path: "/bye" } },
      postStart: { exec: { command: ["true"] } },
    }
    const { after, warnings } = probed("lifecycle", lifecycle)
    expect(after.spec.containers[1]?.lifecycle).toEqual(lifecycle)
    expect(after.metadata.annotations?.["merlon.dev/probes"]).toBe("{}")
    expect(warnings).toEqual([expect.stringContaining("`lifecycle.preStop` calls in plaintext")])
  })

  it("of an init container that keeps running are sent by xserver, and its ports are the Pod's", () => {
    const probe = { httpGet: { port: 9000 } }
    const cache = { name: "cache", restartPolicy: "Always", ports: [{ containerPort: 9000 }], readinessProbe: probe }
    const { after } = injected(pod({ initContainers: [cache, { name: "once", readinessProbe: probe }] }), {
      nativeSidecar: true,
    })
    const asked = { httpGet: { path: "/app-health/cache/readyz", port: 15021, scheme: "HTTP" } }
    expect(after.spec.initContainers?.slice(2)).toMatchObject([{ readinessProbe: asked }, { readinessProbe: probe }])
    expect(after.spec.initContainers?.[0]).toMatchObject({ args: ["capture", "--map", "8080:15080,9000:15081"] })
  })
})

describe("a container that calls through the mesh", () => {
  const env = (container: { readonly [field: string]: unknown } | undefined) =>
    (container?.env as readonly { readonly name: string }[] | undefined)?.map(({ name }) => name) ?? [] // our own format

  it("has the workload's credentials only if it has our image or is named", () => {
    const containers = [app(), app({ name: "ours", image: "merlond:1" }), app({ name: "named" })]
    const { after } = injected(pod({ containers }, { annotations: { "outbound.merlon.dev/credentials": "named" } }))
    const [, plain, ours, named] = after.spec.containers
    expect(env(plain)).toEqual([])
    for (const one of [ours, named]) {
      expect(env(one)).toContain("MERLON_BOOTSTRAP")
      expect(one?.volumeMounts).toEqual([
        { name: "merlon-credentials", mountPath: "/var/run/secrets/merlon.dev", readOnly: true },
      ])
    }
    const kept = JSON.parse(after.metadata.annotations?.["merlon.dev/outbound-bootstrap"] ?? "")
    expect(kept).not.toHaveProperty("state")
  })

  it("is reported if the Pod does not have it", () => {
    const { warnings } = injected(pod({}, { annotations: { "outbound.merlon.dev/credentials": "nobody" } }))
    expect(warnings).toEqual([expect.stringContaining("the container `nobody`")])
  })

  it("gets http_proxy variables on request, except those that its author set", () => {
    const before = pod(
      { containers: [app({ env: [{ name: "http_proxy", value: "theirs" }] })] },
      { annotations: { "outbound.merlon.dev/proxy": "true" } },
    )
    const { after } = injected(before, { nativeSidecar: true })
    expect(after.spec.initContainers?.map(({ name }) => name)).toEqual([
      "merlon-init",
      "merlon-xserver",
      "merlon-xclient",
    ])
    expect(after.spec.containers[0]?.env).toEqual([
      { name: "http_proxy", value: "theirs" },
      { name: "HTTP_PROXY", value: "http://127.0.0.1:15001" },
      { name: "no_proxy", value: "localhost,127.0.0.1,::1" },
      { name: "NO_PROXY", value: "localhost,127.0.0.1,::1" },
    ])
  })
})

describe("a namespace that requires an xserver", () => {
  const REQUIRED = { ...ENABLED, required: true }
  it.each<[string, object, object]>([
    ["opts out by its label", {}, { labels: { "sidecar.merlon.dev/inject": "false" } }],
    ["uses the node's network", { hostNetwork: true }, {}],
  ])("rejects a Pod that %s", (_, spec, metadata) => {
    expect(injectPod(pod(spec, metadata), REQUIRED, OPTIONS)).toMatchObject({
      outcome: "rejected",
      because: expect.stringContaining("requires one, and"),
    })
  })

  it("injects other Pods", () => {
    expect(outcome(injectPod(pod({}), REQUIRED, OPTIONS))).toBe("injected")
  })
})

describe("undeclared ports", () => {
  it("pass at the Pod author's request, with a warning", () => {
    const { after, warnings } = injected(pod({}, { annotations: { "inbound.merlon.dev/undeclared": "pass" } }))
    expect(after.spec.initContainers?.[0]?.args).toEqual(["capture", "--map", "8080:15080", "--undeclared", "pass"])
    expect(warnings).toEqual([expect.stringContaining("no policy of this Pod is Ready")])
  })
})

describe("UDP ports", () => {
  const dns = pod({
    containers: [{ name: "app", ports: [{ containerPort: 80 }, { containerPort: 53, protocol: "UDP" }] }],
  })
  const REJECTED = ["capture", "--map", "80:15080", "--udp", "refuse"]
  it.each<[string, Partial<InjectionOptions>, readonly string[] | undefined, string]>([
    ["pass by default", {}, REJECTED.slice(0, 3), "no policy judges UDP: every client can reach 53"],
    [
      "pass if the mesh says so",
      { udp: "pass" },
      REJECTED.slice(0, 3),
      "no policy judges UDP: every client can reach 53",
    ],
    ["are denied if the mesh says so", { udp: "refuse" }, REJECTED, "this mesh denies UDP: no client can reach 53"],
    [
      "pass if no rules capture",
      { udp: "refuse", capture: "service" },
      undefined,
      "no policy judges UDP: every client can reach 53",
    ],
  ])("%s", (_, options, args, warning) => {
    const { after, warnings } = injected(dns, options)
    expect(after.spec.initContainers?.[0]?.args).toEqual(args)
    expect(warnings).toEqual([expect.stringContaining(warning)])
  })

  it("of a Pod that declares none are denied without a warning", () => {
    const { after, warnings } = injected(pod({}), { udp: "refuse" })
    expect(after.spec.initContainers?.[0]?.args).toEqual(["capture", "--map", "8080:15080", "--udp", "refuse"])
    expect(warnings).toEqual([])
  })
})
