// SPDX-License-Identifier: Apache-2.0
// Which outbound calls of a Pod are captured, depending on its annotations, its namespace's label and the mesh's
// setting, and that no application starts before its proxy captures calls. A captured call succeeds under STRICT; any
// other gets no response.

import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import {
  answering,
  apiServerAddress,
  apply,
  CONFINED,
  install,
  kubectl,
  namespace,
  tryKubectl,
  tryMerlonctl,
} from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"

const SPACE = "capture"
const TARGET = `http://target.${SPACE}:8000/get`
const PROXY = "outbound.merlon.dev/proxy"

const pod = (name: string, annotations: object = {}, spec: object = {}, space = SPACE) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: space, labels: { app: name }, annotations },
  spec: { terminationGracePeriodSeconds: 2, containers: [answering()], ...spec },
})
const waitReady = (name: string) =>
  kubectl("wait", `pod/${name}`, "-n", SPACE, "--for=condition=Ready", "--timeout=150s")

const FETCH = `fetch("${TARGET}", { signal: AbortSignal.timeout(15000) })
  .then(answer => console.log(answer.status), () => console.log(0))`
/** The status of a call to the target; 0 without a response. */
async function called(name: string): Promise<number> {
  await waitReady(name)
  return Number(await kubectl("exec", "-n", SPACE, name, "-c", "app", "--", "node", "-e", FETCH))
}

beforeAll(async () => {
  await startMesh()
  await apply(
    namespace(SPACE, { "merlon-injection": "enabled" }),
    pod("target"),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "target", namespace: SPACE },
      spec: { selector: { app: "target" }, ports: [{ name: "http", port: 8000, targetPort: 8080 }] },
    },
    {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "PeerAuthentication",
      metadata: { name: "default", namespace: SPACE },
      spec: { mtls: { mode: "STRICT" } },
    },
  )
  await waitReady("target")
  await kubectl("wait", "pa/default", "-n", SPACE, "--for=condition=Ready", "--timeout=150s")
})
afterAll(() => install())

it("captures the calls of all Pods except those that opt out", async () => {
  await apply(pod("silent"), pod("opting-out", { [PROXY]: "false" }))
  expect(await called("silent")).toBe(200)
  expect(await called("opting-out")).toBe(0)
})

it("follows the namespace's label, unless the Pod overrides it", async () => {
  const label = (value: string) => kubectl("label", "namespace", SPACE, `merlon-outbound${value}`)
  const rules = (name: string) => {
    const args = '{.spec.initContainers[?(@.name=="merlon-init")].args}'
    const made = ["create", "--dry-run=server", "-o", `jsonpath=${args}`, "-f", "-"]
    return tryKubectl(made, JSON.stringify(pod(name)))
  }
  await label("=off")
  const turned = { timeout: 60_000, message: "the label to reach every replica" }
  await expect.poll(async () => (await rules("any")).out, turned).not.toContain("--outbound")
  await apply(pod("by-namespace"), pod("asking", { [PROXY]: "capture" }))
  expect(await called("by-namespace")).toBe(0)
  expect(await called("asking")).toBe(200)
  await label("-")
})

it("does not capture excluded ports, or ports that are not included", async () => {
  const exclude = { [PROXY]: "capture", "outbound.merlon.dev/exclude-ports": "8000" }
  const include = { [PROXY]: "capture", "outbound.merlon.dev/include-cidrs": "192.0.2.0/24" }
  await apply(pod("excluding", exclude), pod("including", include))
  expect(await called("excluding")).toBe(0)
  expect(await called("including")).toBe(0)
})

/** Status and text of a call from a captured Pod to `host:port`; 0 without a response. */
function answered(host: string): Promise<string> {
  const script = `const [host] = process.argv.slice(1)
    fetch("http://" + host + "/", { signal: AbortSignal.timeout(15000) })
      .then(async answer => console.log(answer.status, await answer.text()), () => console.log(0))`
  return kubectl("exec", "-n", SPACE, "asking", "-c", "app", "--", "node", "-e", script, host)
}
const WAIT = { timeout: 60_000 }

it("rejects destinations outside the cluster in a namespace labelled REGISTRY_ONLY", async () => {
  const outside = await apiServerAddress()
  const policy = (value: string) => kubectl("label", "namespace", SPACE, `merlon-outbound-policy${value}`)
  await policy("=REGISTRY_ONLY")
  await expect.poll(() => answered(outside), WAIT).toMatch(/^502 .*REGISTRY_ONLY/)
  expect(await answered(outside)).toContain(outside)
  expect(await called("asking")).toBe(200)
  // The API server requires TLS and responds with 400 to plaintext.
  expect(await answered("kubernetes.default:443")).toMatch(/^400 /)
  await policy("-")
  await expect.poll(() => answered(outside), WAIT).toMatch(/^400 /)
})

/** Responds to datagrams and echoes connections, at an address without a proxy. */
const OUTSIDE = `
  const datagrams = require("node:dgram").createSocket({ type: "udp6" })
  datagrams.on("message", (text, from) => datagrams.send("udp " + text, from.port, from.address)).bind(8053)
  require("node:net").createServer(socket => { socket.on("error", () => {}).pipe(socket) }).listen(8054)`

describe("a captured Pod still", () => {
  const run = (script: string, ...args: string[]) =>
    kubectl("exec", "-n", SPACE, "silent", "-c", "app", "--", "node", "-e", script, ...args)
  let addresses: readonly string[] = []

  beforeAll(async () => {
    const container = answering({ command: ["node", "-e", OUTSIDE], ports: [] })
    await apply(namespace("capture-outside"), pod("plain", {}, { containers: [container] }, "capture-outside"))
    await kubectl("wait", "pod/plain", "-n", "capture-outside", "--for=condition=Ready", "--timeout=150s")
    const path = "jsonpath={.status.podIPs[*].ip}"
    addresses = (await kubectl("get", "pod", "plain", "-n", "capture-outside", "-o", path)).split(" ")
    expect(addresses).toHaveLength(2)
  })
  afterAll(() => kubectl("delete", "namespace", "capture-outside", "--wait=false"))

  it("sends datagrams, over IPv4 and IPv6", async () => {
    const script = `const [host] = process.argv.slice(1)
      const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4")
      const again = setInterval(() => socket.send("text", 8053, host), 200)
      socket.on("message", text => { console.log(String(text)); clearInterval(again); socket.close() })`
    for (const address of addresses) expect(await run(script, address)).toBe("udp text")
  })

  it("exchanges bytes with a Pod without a proxy, over IPv4 and IPv6", async () => {
    const script = `const [host] = process.argv.slice(1)
      const socket = require("node:net").connect(8054, host); socket.write("bytes")
      socket.on("data", text => { console.log(String(text)); socket.destroy() })`
    for (const address of addresses) expect(await run(script, address)).toBe("bytes")
  })

  it("resolves names by UDP and by TCP", async () => {
    // A DNS message over TCP is preceded by its length (RFC 1035 section 4.2.2).
    const script = `const [server] = require("node:dns").getServers()
      const name = "target.${SPACE}.svc.cluster.local".split(".").map(label => String.fromCharCode(label.length) + label).join("") + "\\0"
      const question = Buffer.concat([Buffer.from("000701000001000000000000", "hex"), Buffer.from(name, "latin1"), Buffer.from("00010001", "hex")])
      const socket = require("node:net").connect(53, server)
      socket.write(Buffer.concat([Buffer.from([0, question.length]), question]))
      socket.once("data", answer => { console.log(answer.readUInt16BE(2), answer[5] & 15, answer.readUInt16BE(8)); socket.destroy() })
      require("node:dns").resolve4("target.${SPACE}.svc.cluster.local", error => { if (error) console.log(error.code) })`
    expect(await run(script)).toBe("7 0 1")
  })

  it("calls an address outside the cluster with the program's own TLS", async () => {
    const script = `process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
      fetch("https://" + process.argv[1] + "/healthz").then(answer => console.log(answer.status))`
    expect(await run(script, await apiServerAddress())).toMatch(/^(200|401|403)$/)
  })
})

it("starts the application after its proxy if that is a plain sidecar", async () => {
  const flags = ["-f", "-", "--sidecar", "plain", "--image", inject("image")]
  // The application makes a call as soon as it starts.
  const container = answering({ command: ["node", "-e", `${FETCH}; setInterval(() => 0, 1e6)`], ports: [] })
  const { out } = await tryMerlonctl(
    ["inject", ...flags],
    JSON.stringify(pod("plain", {}, { containers: [container] })),
  )
  await apply(out)
  await waitReady("plain")
  const log = () => kubectl("logs", "plain", "-n", SPACE, "-c", "app")
  await expect.poll(log, { timeout: 60_000, interval: 300 }).toBe("200")
})

it("warns in a restricted namespace, where calls are not captured", async () => {
  const restricted = { "merlon-injection": "enabled", "pod-security.kubernetes.io/enforce": "restricted" }
  await apply(namespace("capture-confined", restricted))
  const document = JSON.stringify(pod("confined", {}, {}, "capture-confined"))
  const { code, err } = await tryKubectl(["create", "--dry-run=server", "-f", "-"], document)
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringContaining("outbound calls of this Pod are not captured"),
  })
})

it("adds a proxy for http_proxy to a Pod of a restricted namespace that requests it", async () => {
  const spec = { securityContext: { runAsNonRoot: true, seccompProfile: CONFINED.seccompProfile } }
  await apply(pod("by-proxy", { [PROXY]: "true" }, spec, "capture-confined"))
  await kubectl("wait", "pod/by-proxy", "-n", "capture-confined", "--for=condition=Ready", "--timeout=150s")
  const script = `const { hostname, port } = new URL(process.env.http_proxy)
    require("node:http").get({ host: hostname, port, path: "${TARGET}" }, answer => console.log(answer.resume().statusCode))`
  const run = ["exec", "-n", "capture-confined", "by-proxy", "-c", "app", "--", "node", "-e", script]
  await expect.poll(() => kubectl(...run), { timeout: 60_000 }).toBe("200")
  await kubectl("delete", "namespace", "capture-confined", "--wait=false")
})

it("rejects destinations outside the cluster in a mesh with REGISTRY_ONLY", async () => {
  await install("--set", "outboundPolicy=REGISTRY_ONLY")
  const outside = await apiServerAddress()
  await expect.poll(() => answered(outside), WAIT).toMatch(/^502 .*REGISTRY_ONLY/)
  expect(await called("asking")).toBe(200)
  await kubectl("label", "namespace", SPACE, "merlon-outbound-policy=ALLOW_ANY")
  await expect.poll(() => answered(outside), WAIT).toMatch(/^400 /)
  await kubectl("label", "namespace", SPACE, "merlon-outbound-policy-")
})

it("captures only the calls of Pods that opt in if the mesh's setting is off", async () => {
  const before = await kubectl("get", "pods", "-n", "merlon-system", "-o", "name")
  await install("--set", "outbound=off")
  // A terminating replica still injects with the earlier setting.
  await kubectl("wait", ...before.split("\n"), "-n", "merlon-system", "--for=delete", "--timeout=150s")
  await apply(pod("by-mesh"), pod("opted-in", { [PROXY]: "capture" }))
  expect(await called("by-mesh")).toBe(0)
  expect(await called("opted-in")).toBe(200)
  // A Pod keeps the rules that it was created with.
  expect(await called("silent")).toBe(200)
})
