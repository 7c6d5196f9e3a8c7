// SPDX-License-Identifier: Apache-2.0
// Pods of every kind in a namespace of the mesh: what starts, what completes, what is refused, what is not protected.

import { beforeAll, describe, expect, it } from "vitest"
import {
  answering,
  apply,
  CONFINED,
  eventually,
  kubectl,
  namespace,
  podAddress,
  ready,
  status,
  tryKubectl,
} from "../support/cluster.js"

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
  kubectl("wait", `pod/${name}`, "-n", space, "--for=condition=Ready", "--timeout=120s")

beforeAll(async () => {
  await apply(namespace(SPACE, ENABLED), strict(SPACE))
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
    await kubectl("wait", "job/once", "-n", SPACE, "--for=condition=Complete", "--timeout=120s")
  })

  it("StatefulSets, DaemonSets and Deployments serve behind their xserver, with probes of every kind", async () => {
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

  it("nobody reaches an application past its xserver, at a declared port or another", async () => {
    const address = await podAddress(SPACE, "app=deployed")
    for (const port of [8080, 15_080, 9999])
      expect(await status(`http://${address}:${port}/get`), `port ${port}`).toBe(0)
  })

  it("a Pod on the node's network is let be, told of, and keeps no policy Ready", async () => {
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
        { timeout: 60_000 },
      )
      .toBe("False")
    await kubectl("delete", "pod", "host", "-n", SPACE, "--now")
    await kubectl("wait", "pa/default", "-n", SPACE, "--for=condition=Ready", "--timeout=60s")
  })

  it("ports that nobody declares pass where the Pod says so, and then no policy on it is Ready", async () => {
    const metadata = { labels: { app: "lax" }, annotations: { "inbound.merlon.dev/undeclared": "pass" } }
    await apply(pod("lax", SPACE, { containers: [answering({ ports: [{ containerPort: 8081 }] })] }, metadata))
    await waitReady("lax", SPACE)
    expect(await status(`http://${await podAddress(SPACE, "app=lax")}:8080/get`)).toBe(200)
    const message = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}'
    await expect
      .poll(() => kubectl("get", "pa", "default", "-n", SPACE, "-o", message), { timeout: 60_000 })
      .toContain("unjudged")
    await kubectl("delete", "pod", "lax", "-n", SPACE, "--now")
  })

  it("an application calls by http_proxy where its Pod asks for it", async () => {
    const script = `const { request } = require("node:http")
      const { hostname, port } = new URL(process.env.http_proxy)
      request({ host: hostname, port, path: "http://web.app.svc.cluster.local/" }, answer => console.log(answer.statusCode)).end()`
    const metadata = { labels: { app: "proxied" }, annotations: { "outbound.merlon.dev/proxy": "true" } }
    await apply(pod("proxied", SPACE, {}, metadata), strict("app"))
    await waitReady("proxied", SPACE)
    await kubectl("wait", "pa/default", "-n", "app", "--for=condition=Enforced", "--timeout=60s")
    expect(await kubectl("exec", "-n", SPACE, "proxied", "--", "node", "-e", script)).toBe("200")
    await kubectl("delete", "pa", "default", "-n", "app")
  })
})

describe("a namespace that requires an xserver", () => {
  it("refuses Pods that would have none", async () => {
    await apply(namespace("closed", { "merlon-injection": "required" }))
    const { code, err } = await tryKubectl(
      ["apply", "-f", "-"],
      JSON.stringify(pod("bare", "closed", {}, { labels: { "sidecar.merlon.dev/inject": "false" } })),
    )
    expect(code).toBe(1)
    expect(err).toContain("takes no Pod without one")
  })
})

describe("a restricted namespace", () => {
  const space = "confined"

  it("has its Pods captured by Service, and says that this network enforces no NetworkPolicy", async () => {
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
      .poll(() => kubectl("get", "networkpolicy", "-n", space, "-o", "name"), { timeout: 60_000 })
      .toBe("networkpolicy.networking.k8s.io/merlon-capture")
    // The bridge plugin of the test's node enforces none; where one is enforced, the condition is True.
    const captured = 'jsonpath={.status.conditions[?(@.type=="merlon.dev/Captured")].status}'
    await expect
      .poll(() => kubectl("get", "pod", "safe", "-n", space, "-o", captured), { timeout: 90_000 })
      .toMatch(/True|False/)
    const isClosed = (await kubectl("get", "pod", "safe", "-n", space, "-o", captured)) === "True"
    expect(await status(`http://${await podAddress(space, "app=safe")}:8080/get`)).toBe(isClosed ? 0 : 200)
    const isReady = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    await expect
      .poll(() => kubectl("get", "pa", "default", "-n", space, "-o", isReady), { timeout: 60_000 })
      .toBe(isClosed ? "True" : "False")
  })
})
