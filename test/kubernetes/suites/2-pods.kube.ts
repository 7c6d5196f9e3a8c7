// SPDX-License-Identifier: Apache-2.0
// Many kinds of Pods in a namespace of the mesh: which of them start, complete, are rejected or are not protected.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { parse } from "yaml"
import {
  answering,
  apply,
  CONFINED,
  enforceNetworkPolicy,
  eventually,
  helm,
  kubectl,
  namespace,
  podAddress,
  ready,
  status,
  tryKubectl,
  tryMerlonctl,
} from "../support/cluster.js"
import { keepAliveLoad } from "../support/keep-alive-load.js"
import { startMesh } from "../support/mesh.js"

const SPACE = "kinds"
const ENABLED = { "merlon-injection": "enabled" }

const template = (name: string, spec: object = {}, annotations: object = {}) => ({
  metadata: { labels: { app: name }, annotations },
  spec: { terminationGracePeriodSeconds: 2, containers: [answering()], ...spec },
})
const workload = (kind: string, name: string, spec: object = {}, more: object = {}) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name, namespace: SPACE },
  spec: { selector: { matchLabels: { app: name } }, template: template(name, spec), ...more },
})
const service = (name: string, space = SPACE, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: space },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...more },
})
const pod = (name: string, space: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: space, labels: { app: name }, ...metadata },
  spec: template(name, spec).spec,
})
const strict = (space: string) => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PeerAuthentication",
  metadata: { name: "default", namespace: space },
  spec: { mtls: { mode: "STRICT" } },
})
const waitReady = (name: string, space: string) =>
  kubectl("wait", `pod/${name}`, "-n", space, "--for=condition=Ready", "--timeout=150s")

beforeAll(async () => {
  await startMesh()
  await apply(namespace(SPACE, ENABLED), strict(SPACE))
})

describe("a policy for the whole mesh", () => {
  const policy = ["authorizationpolicies.security.merlon.dev/nothing", "-n", "merlon-system"]
  afterAll(() => tryKubectl(["delete", ...policy]))

  it("becomes Ready despite Pods outside the mesh, and lists them", async () => {
    await apply({
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name: "nothing", namespace: "merlon-system" },
      spec: { action: "DENY", rules: [{ to: [{ operation: { paths: ["/nothing-has-this-path"] } }] }] },
    })
    await kubectl("wait", ...policy, "--for=condition=Ready", "--timeout=150s")
    const message = 'jsonpath={.status.conditions[?(@.type=="MatchesWorkloads")].message}'
    expect(await kubectl("get", ...policy, "-o", message)).toMatch(/; \d+ not in the mesh, so not enforced there: /)
  })
})

describe("in a namespace of the mesh", () => {
  it("Jobs complete", async () => {
    const container = { ...answering({ command: ["node", "-e", "0"], ports: [] }) }
    await apply({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "once", namespace: SPACE },
      spec: { template: template("once", { restartPolicy: "Never", containers: [container] }) },
    })
    await kubectl("wait", "job/once", "-n", SPACE, "--for=condition=Complete", "--timeout=150s")
  })

  it("StatefulSets, DaemonSets and Deployments serve with probes of every kind", async () => {
    const get = { httpGet: { path: "/status/200", port: "http" }, periodSeconds: 1 }
    const probed = answering({
      readinessProbe: get,
      livenessProbe: { tcpSocket: { port: 8080 } },
      startupProbe: { exec: { command: ["node", "-e", "0"] }, timeoutSeconds: 20 },
      lifecycle: { preStop: { httpGet: { path: "/status/200", port: "http" } } },
    })
    const first = answering({ name: "first", command: ["node", "-e", "0"], ports: [] })
    await apply(
      workload("StatefulSet", "stateful", { containers: [probed] }, { serviceName: "stateful" }),
      service("stateful", SPACE, { clusterIP: "None" }),
      workload("DaemonSet", "daemon", { containers: [probed] }),
      workload("Deployment", "deployed", { containers: [probed], initContainers: [first] }),
      service("deployed"),
    )
    for (const [kind, name] of [
      ["statefulset", "stateful"],
      ["daemonset", "daemon"],
      ["deploy", "deployed"],
    ] as const) {
      await ready(kind, name, SPACE)
    }
    const called = ["exec", "-n", "app", "deploy/consumer", "--", "xclient", "--host", `deployed.${SPACE}`, "3"]
    expect(await kubectl(...called)).toMatch(/ 3 100%$/m)
  })

  it("a plain sidecar, as `merlonctl inject` creates it for older clusters, serves too", async () => {
    const flags = ["-f", "-", "--sidecar", "plain", "--image", inject("image")]
    const { out } = await tryMerlonctl(["inject", ...flags], JSON.stringify(pod("plain", SPACE)))
    await apply(out, service("plain"))
    await waitReady("plain", SPACE)
    const containers = ["get", "pod", "plain", "-n", SPACE, "-o", "jsonpath={.spec.containers[*].name}"]
    expect(await kubectl(...containers)).toMatch(/\bmerlon-xserver\b/)
    expect(await status(`http://${await podAddress(SPACE, "app=plain")}:8080/get`)).toBe(0)
    const called = ["exec", "-n", "app", "deploy/consumer", "--", "xclient", "--host", `plain.${SPACE}`, "2"]
    expect(await kubectl(...called)).toMatch(/ 2 100%$/m)
  })

  it("no caller reaches an application without passing its xserver, at a declared port or another", async () => {
    const address = await podAddress(SPACE, "app=deployed")
    for (const port of [8080, 15_080, 9999])
      expect(await status(`http://${address}:${port}/get`), `port ${port}`).toBe(0)
  })

  it("a Pod on the node's network runs without a proxy, is reported, and keeps no policy Ready", async () => {
    const { err } = await tryKubectl(
      ["apply", "-f", "-"],
      JSON.stringify(
        pod("host", SPACE, {
          hostNetwork: true,
          containers: [answering({ command: ["node", "-e", "setInterval(() => 0, 1e6)"], ports: [] })],
        }),
      ),
    )
    expect(err).toContain("hostNetwork")
    await waitReady("host", SPACE)
    await expect
      .poll(
        () =>
          kubectl(
            "get",
            "pa",
            "default",
            "-n",
            SPACE,
            "-o",
            'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
          ),
        { timeout: 150_000 },
      )
      .toBe("False")
    await kubectl("delete", "pod", "host", "-n", SPACE, "--now")
    await kubectl("wait", "pa/default", "-n", SPACE, "--for=condition=Ready", "--timeout=150s")
  })

  it("undeclared ports pass if the Pod requests it, and then no policy for it is Ready", async () => {
    const metadata = { labels: { app: "lax" }, annotations: { "inbound.merlon.dev/undeclared": "pass" } }
    await apply(pod("lax", SPACE, { containers: [answering({ ports: [{ containerPort: 8081 }] })] }, metadata))
    await waitReady("lax", SPACE)
    expect(await status(`http://${await podAddress(SPACE, "app=lax")}:8080/get`)).toBe(200)
    const message = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}'
    await expect
      .poll(() => kubectl("get", "pa", "default", "-n", SPACE, "-o", message), { timeout: 150_000 })
      .toContain("without policy checks")
    await kubectl("delete", "pod", "lax", "-n", SPACE, "--now")
  })

  it("an application calls through http_proxy if its Pod requests it", async () => {
    const script = `const { request } = require("node:http")
      const { hostname, port } = new URL(process.env.http_proxy)
      request({ host: hostname, port, path: "http://web.app.svc.cluster.local/" }, answer => console.log(answer.resume().statusCode)).end()`
    const metadata = { labels: { app: "proxied" }, annotations: { "outbound.merlon.dev/proxy": "true" } }
    await apply(pod("proxied", SPACE, {}, metadata), strict("app"))
    await waitReady("proxied", SPACE)
    await kubectl("wait", "pa/default", "-n", "app", "--for=condition=Enforced", "--timeout=150s")
    expect(await kubectl("exec", "-n", SPACE, "proxied", "--", "node", "-e", script)).toBe("200")
    await kubectl("delete", "pa", "default", "-n", "app")
  })
})

describe("IPv4 and IPv6", () => {
  const space = "families"
  const urls = async (): Promise<readonly string[]> => {
    const addresses = async (kind: string, path: string) =>
      (await kubectl("get", kind, "dual", "-n", space, "-o", `jsonpath=${path}`)).split(" ")
    const atPod = (await addresses("pod", "{.status.podIPs[*].ip}")).map(address => [address, 8080] as const)
    const atService = (await addresses("service", "{.spec.clusterIPs[*]}")).map(address => [address, 80] as const)
    return [...atPod, ...atService].map(([host, port]) => `http://${host.includes(":") ? `[${host}]` : host}:${port}`)
  }

  it("lead to the same proxy, which enforces the same policies", async () => {
    const dual = { ipFamilyPolicy: "RequireDualStack" }
    const deny = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name: "not-this", namespace: space },
      spec: { action: "DENY", rules: [{ to: [{ operation: { paths: ["/headers"] } }] }] },
    }
    await apply(namespace(space, ENABLED), pod("dual", space), service("dual", space, dual), deny)
    await waitReady("dual", space)
    await kubectl(
      "wait",
      "authorizationpolicies.security.merlon.dev/not-this",
      "-n",
      space,
      "--for=condition=Ready",
      "--timeout=150s",
    )
    const called = await urls()
    expect(called).toHaveLength(4)
    for (const url of called) {
      await eventually(`${url}/get`, 200)
      expect(await status(`${url}/headers`), url).toBe(403)
    }
  })

  it("reject plaintext under STRICT and accept mutual TLS", async () => {
    await apply(strict(space))
    await kubectl("wait", "pa/default", "-n", space, "--for=condition=Enforced", "--timeout=150s")
    for (const url of await urls()) expect(await status(`${url}/get`), url).toBe(0)
    const called = [
      "exec",
      "-n",
      "app",
      "deploy/consumer",
      "--",
      "xclient",
      "--host",
      `dual.${space}`,
      "--path",
      "/get",
      "2",
    ]
    expect(await kubectl(...called)).toMatch(/ 2 100%$/m)
    await kubectl("delete", "namespace", space, "--wait=false")
  })
})

describe("a rollout", () => {
  const space = "rolling"
  // docs/kubernetes.md requires this of applications that stop listening immediately.
  const wait = { preStop: { exec: { command: ["node", "-e", "setTimeout(() => undefined, 5000)"] } } }
  const deployment = (name: string) => ({
    ...workload("Deployment", name, {
      containers: [answering({ lifecycle: wait })],
      terminationGracePeriodSeconds: 60,
    }),
    metadata: { name, namespace: space },
  })

  it.each(["native", "plain"])("loses no request of keep-alive callers with a %s sidecar", async sidecar => {
    await apply(namespace(space, ENABLED))
    const flags = ["-f", "-", "--sidecar", sidecar, "--image", inject("image")]
    const { out } = await tryMerlonctl(["inject", ...flags], JSON.stringify(deployment(sidecar)))
    await apply(out, service(sidecar, space))
    await ready("deploy", sidecar, space)
    await eventually(`http://${sidecar}.${space}/get`, 200)
    const before = await kubectl("get", "pod", "-n", space, "-l", `app=${sidecar}`, "-o", "name")
    const { answered, closing, failed } = await keepAliveLoad(`http://${sidecar}.${space}/anything`, async () => {
      await kubectl("rollout", "restart", `deploy/${sidecar}`, "-n", space)
      await ready("deploy", sidecar, space)
      await kubectl("wait", before, "-n", space, "--for=delete", "--timeout=150s")
    })
    expect({ failed: failed.length, first: failed.slice(0, 5) }).toEqual({ failed: 0, first: [] })
    // The kubelet ran the hook while the application was still running.
    expect(closing).toBeGreaterThan(0)
    expect(answered).toBeGreaterThan(closing)
  })
})

describe("a Pod that was created before its namespace joined the mesh", () => {
  const space = "late"

  it("keeps policies from being Ready, is reported by `check`, and is protected after a restart", async () => {
    await apply(namespace(space))
    await apply(pod("early", space))
    await waitReady("early", space)
    await apply(namespace(space, ENABLED), strict(space))
    const message = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}'
    await expect
      .poll(() => kubectl("get", "pa", "default", "-n", space, "-o", message), { timeout: 150_000 })
      .toContain("no xserver in front of late/early")
    expect((await tryMerlonctl(["check"])).out).toMatch(/no xserver in front of late\/early|late\/early has no xserver/)
    await kubectl("delete", "pod", "early", "-n", space, "--now")
    await apply(pod("early", space))
    await kubectl("wait", "pa/default", "-n", space, "--for=condition=Ready", "--timeout=150s")
    // A policy for the whole mesh may still wait for its proxy.
    await expect.poll(async () => (await tryMerlonctl(["check"])).out, { timeout: 150_000 }).not.toContain("late/early")
  })
})

describe("unusual Pods in a server-side dry run", () => {
  const GOLDEN = "packages/control/src/admission/golden"
  const CASES = readdirSync(GOLDEN).filter(name => name.endsWith(".in.yaml"))

  it.each(CASES)("%s", async name => {
    const read = (file: string) => parse(readFileSync(join(GOLDEN, file), "utf8"))
    const { outcome, because } = read(name.replace(".in.", ".out."))
    const { metadata = {}, spec } = podOf(read(name))
    const document = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "nasty", namespace: SPACE }, spec }
    const asked = ["create", "--dry-run=server", "-o", "json", "-f", "-"]
    const { code, out, err } = await tryKubectl(asked, JSON.stringify(document))
    if (outcome === "rejected") expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(because) })
    else expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" })
    if (outcome !== "injected") return
    const { initContainers } = JSON.parse(out).spec
    expect(initContainers.map((one: { name: string }) => one.name)).toContain("merlon-xserver")
  })
})

/** The Pod template of a workload. */
function podOf(document: { readonly kind: string; readonly spec: object }): {
  readonly metadata?: object
  spec: object
} {
  if (document.kind === "Pod") return document
  // Jobs, Deployments and CronJobs in the form of the golden files.
  const { template, jobTemplate } = document.spec as { template?: { spec: object }; jobTemplate?: { spec: object } }
  if (template !== undefined) return template
  return podOf({ kind: "Job", spec: jobTemplate?.spec ?? {} })
}

describe("a namespace that requires an xserver", () => {
  const space = "closed"
  const rejected = (name: string, spec: object, metadata: object = {}) =>
    tryKubectl(["apply", "-f", "-"], JSON.stringify(pod(name, space, spec, metadata)))
  const LIMITED = { resources: { limits: { cpu: "1", memory: "128Mi" } } }

  beforeAll(async () => {
    await apply(namespace(space, { "merlon-injection": "required" }), {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "limits", namespace: space },
      spec: { hard: { "limits.cpu": "20", "limits.memory": "8Gi" } },
    })
  })

  it("rejects Pods without one", async () => {
    const { code, err } = await rejected("bare", {}, { labels: { "sidecar.merlon.dev/inject": "false" } })
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("requires one, and") })
  })

  it.each([
    ["a container that only has the name of the proxy", { containers: [answering({ name: "merlon-xserver" })] }],
    [
      "a native sidecar that only has the name of the proxy",
      { initContainers: [answering({ name: "merlon-xserver", restartPolicy: "Always" })], containers: [answering()] },
    ],
    ["a privileged container", { containers: [answering({ securityContext: { privileged: true } })] }],
  ])("rejects a Pod with %s", async (_, spec) => {
    const { code, err } = await rejected("bypass", spec)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("`closed`") })
  })

  it("starts an injected Pod, also under a quota on limits, and rejects changes that weaken it", async () => {
    await apply(pod("guarded", space, { containers: [answering(LIMITED)] }))
    await waitReady("guarded", space)
    // A change that does not affect the proxy is allowed.
    await kubectl("label", "pod/guarded", "-n", space, "team=shop")
    const pass = ["annotate", "pod/guarded", "-n", space, "inbound.merlon.dev/undeclared=pass"]
    expect(await tryKubectl(pass)).toMatchObject({
      code: 1,
      err: expect.stringContaining("inbound.merlon.dev/undeclared"),
    })
    const debug = [
      "debug",
      "guarded",
      "-n",
      space,
      `--image=${inject("samplesImage")}`,
      "--profile=sysadmin",
      "--",
      "true",
    ]
    expect(await tryKubectl(debug)).toMatchObject({ code: 1, err: expect.stringContaining("privileged") })
  })
})

describe("a restricted namespace", () => {
  const space = "confined"

  it("has its Pods captured by Service, and reports that this network does not enforce NetworkPolicies", async () => {
    await apply(namespace(space, { ...ENABLED, "pod-security.kubernetes.io/enforce": "restricted" }))
    await apply(
      pod("safe", space, { securityContext: { runAsNonRoot: true, seccompProfile: CONFINED.seccompProfile } }),
    )
    await waitReady("safe", space)
    await apply(service("safe", space), strict(space))
    expect(await kubectl("get", "service", "safe", "-n", space, "-o", "jsonpath={.spec.ports[0].targetPort}")).toBe(
      "15080",
    )
    await eventually(`http://safe.${space}/get`, 0)
    await expect
      .poll(() => kubectl("get", "networkpolicy", "-n", space, "-o", "name"), { timeout: 150_000 })
      .toBe("networkpolicy.networking.k8s.io/merlon-capture")
    // The bridge plugin of the test's node does not enforce NetworkPolicies. On networks that do, the condition is
    // True.
    const captured = 'jsonpath={.status.conditions[?(@.type=="merlon.dev/Captured")].status}'
    await expect
      .poll(() => kubectl("get", "pod", "safe", "-n", space, "-o", captured), { timeout: 150_000 })
      .toMatch(/True|False/)
    const isClosed = (await kubectl("get", "pod", "safe", "-n", space, "-o", captured)) === "True"
    expect(await status(`http://${await podAddress(space, "app=safe")}:8080/get`)).toBe(isClosed ? 0 : 200)
    const isReady = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    await expect
      .poll(() => kubectl("get", "pa", "default", "-n", space, "-o", isReady), { timeout: 150_000 })
      .toBe(isClosed ? "True" : "False")
  })

  it.skipIf(inject("kubelet") === "")("is Ready if the network enforces that NetworkPolicy", async () => {
    const address = await podAddress(space, "app=safe")
    await enforceNetworkPolicy("merlon-capture", space, address)
    expect(await status(`http://${address}:8080/get`)).toBe(0)
    const captured = 'jsonpath={.status.conditions[?(@.type=="merlon.dev/Captured")].status}'
    await expect
      .poll(() => kubectl("get", "pod", "safe", "-n", space, "-o", captured), { timeout: 150_000 })
      .toBe("True")
    await kubectl("wait", "pa/default", "-n", space, "--for=condition=Ready", "--timeout=150s")
    expect(
      await kubectl("exec", "-n", "app", "deploy/consumer", "--", "xclient", "--host", `safe.${space}`, "2"),
    ).toMatch(/ 2 100%$/m)
  })
  it("keeps its captured Services when `helm template | kubectl apply` runs the chart's uninstall hook", async () => {
    const values = ["--set", `image=${inject("image")}`, "--kube-version", "1.36"]
    const chart = await helm("template", "merlon", "deploy/helm/merlon", "-n", "merlon-system", ...values)
    await apply(chart)
    await kubectl("wait", "job/merlon-post-delete", "-n", "merlon-system", "--for=condition=Complete", "--timeout=150s")
    const port = ["get", "service", "safe", "-n", space, "-o", "jsonpath={.spec.ports[0].targetPort}"]
    expect(await kubectl(...port)).toBe("15080")
    await kubectl("delete", "job/merlon-post-delete", "-n", "merlon-system")
  })
})
