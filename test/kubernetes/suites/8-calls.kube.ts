// SPDX-License-Identifier: Apache-2.0
// Unmodified programs call each other under STRICT: a Pod's calls are captured and arrive over mTLS with its identity.
// The Pods need no settings for that, because it is the default.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, apiServerAddress, apply, kubectl, namespace, status, tryKubectl } from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"

const SERVED = "served"
const CALLS = "calls"
const ENABLED = { "merlon-injection": "enabled" }

/** Serves HTTP/1.1 and WebSocket, cleartext HTTP/2, and a server-first protocol. */
const SERVER = `
  const { createServer } = require("node:http")
  const web = createServer(async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += chunk.length
    const size = Number(request.headers["x-size"] ?? 0)
    if (size > 0) return response.end(Buffer.alloc(size, "x"))
    response.end(JSON.stringify({ caller: request.headers["x-forwarded-client-cert"], bytes, host: request.headers.host }))
  })
  web.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n")
    socket.pipe(socket)
  })
  web.listen(8080)
  require("node:http2").createServer((request, response) => response.end("h2 " + request.url)).listen(8081)
  require("node:net").createServer(socket => {
    socket.on("error", () => {})
    socket.write("hello ")
    socket.pipe(socket)
  }).listen(8082)
`
const PORTS = [
  { name: "http", port: 80, targetPort: 8080 },
  { name: "grpc", port: 81, targetPort: 8081 },
  { name: "greeting", port: 82, targetPort: 8082 },
]
const serving = () =>
  answering({
    command: ["node", "-e", SERVER],
    ports: PORTS.map(({ name, targetPort }) => ({ name, containerPort: targetPort })),
  })
const service = (name: string, space: string, app: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: space },
  spec: { selector: { app }, ports: PORTS, ...spec },
})
const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: CALLS } })
const caller = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: CALLS, labels: { app: name } },
  spec: {
    serviceAccountName: name,
    terminationGracePeriodSeconds: 2,
    containers: [answering({ command: ["node", "-e", "setInterval(() => 0, 1e6)"], ports: [] })],
  },
})
const policy = (kind: string, name: string, space: string, spec: object) => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind,
  metadata: { name, namespace: space },
  spec,
})

beforeAll(async () => {
  await startMesh()
  await apply(namespace(SERVED, ENABLED), namespace(CALLS, ENABLED), namespace("bare"))
  await apply(
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "server", namespace: SERVED },
      spec: {
        serviceName: "servers",
        replicas: 2,
        selector: { matchLabels: { app: "server" } },
        template: {
          metadata: { labels: { app: "server" } },
          spec: { terminationGracePeriodSeconds: 2, containers: [serving()] },
        },
      },
    },
    service("server", SERVED, "server", { ipFamilyPolicy: "RequireDualStack" }),
    service("servers", SERVED, "server", { clusterIP: "None" }),
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "bare", namespace: "bare", labels: { app: "bare" } },
      spec: { terminationGracePeriodSeconds: 1, containers: [serving()] },
    },
    service("bare", "bare", "bare"),
    account("caller"),
    account("stranger"),
    caller("caller"),
    caller("stranger"),
    policy("PeerAuthentication", "default", "merlon-system", { mtls: { mode: "STRICT" } }),
    policy("AuthorizationPolicy", "callers", SERVED, {
      rules: [{ from: [{ source: { principals: [`cluster.local/ns/${CALLS}/sa/caller`] } }] }],
    }),
  )
  await kubectl("rollout", "status", "statefulset/server", "-n", SERVED, "--timeout=150s")
  for (const name of ["caller", "stranger"])
    await kubectl("wait", `pod/${name}`, "-n", CALLS, "--for=condition=Ready", "--timeout=150s")
  await kubectl("wait", "pod/bare", "-n", "bare", "--for=condition=Ready", "--timeout=150s")
  await kubectl("wait", "pa/default", "-n", "merlon-system", "--for=condition=Enforced", "--timeout=150s")
  await kubectl("wait", "ap/callers", "-n", SERVED, "--for=condition=Enforced", "--timeout=150s")
})

afterAll(() => tryKubectl(["delete", "peerauthentications.security.merlon.dev/default", "-n", "merlon-system"]))

/** Runs a script in a captured Pod and returns its output. */
function inPod(name: string, script: string, ...args: string[]): Promise<string> {
  return kubectl("exec", "-n", CALLS, name, "-c", "app", "--", "node", "-e", script, ...args)
}

const FETCH = `fetch(process.argv[1], { signal: AbortSignal.timeout(15000) })
  .then(async answer => console.log(JSON.stringify({ status: answer.status, decision: answer.headers.get("x-merlon-decision"), body: await answer.text() })),
    error => console.log(JSON.stringify({ status: 0, body: String(error.cause ?? error) })))`

interface Fetched {
  readonly status: number
  readonly decision: string | null
  readonly body: string
}

async function fetched(url: string, name = "caller"): Promise<Fetched> {
  return JSON.parse(await inPod(name, FETCH, url))
}

async function addresses(kind: string, name: string, path: string): Promise<readonly string[]> {
  const out = await kubectl("get", kind, name, "-n", SERVED, "-o", `jsonpath=${path}`)
  return out.split(" ").map(address => (address.includes(":") ? `[${address}]` : address))
}

describe("an unmodified program under STRICT", () => {
  it("is rejected if its calls are not captured", async () => {
    expect(await status(`http://server.${SERVED}/`)).toBe(0)
  })

  it("calls by every name and address, over IPv4 and IPv6", async () => {
    const names = [`server.${SERVED}`, `servers.${SERVED}:8080`, `server-0.servers.${SERVED}.svc.cluster.local:8080`]
    const services = await addresses("service", "server", "{.spec.clusterIPs[*]}")
    const pods = (await addresses("pod", "server-1", "{.status.podIPs[*].ip}")).map(address => `${address}:8080`)
    expect(services.length + pods.length).toBe(4)
    for (const host of [...names, ...services, ...pods]) {
      const { status: code, body } = await fetched(`http://${host}/`)
      expect({ host, code }).toEqual({ host, code: 200 })
      expect(JSON.parse(body)).toMatchObject({ caller: expect.stringContaining(`/ns/${CALLS}/sa/caller`), host })
    }
  })

  it("gets 403 without permission, with a decision that can be explained", async () => {
    const { status: code, decision } = await fetched(`http://server.${SERVED}/`, "stranger")
    expect(code).toBe(403)
    expect(decision).toMatch(/^[0-9a-f]{20}$/)
  })

  it("uses HTTP/2", async () => {
    const script = `const session = require("node:http2").connect("http://server.${SERVED}:81")
      const stream = session.request({ ":path": "/over" })
      stream.setEncoding("utf8"); let body = ""
      stream.on("data", chunk => body += chunk).on("end", () => { console.log(body); session.close() })`
    expect(await inPod("caller", script)).toBe("h2 /over")
  })

  it("opens a WebSocket", async () => {
    const script = `const socket = require("node:net").connect(80, "server.${SERVED}"); let read = ""
      socket.write("GET / HTTP/1.1\\r\\nHost: server\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n")
      let sent = false
      socket.on("data", chunk => { read += chunk; if (!sent && read.includes("\\r\\n\\r\\n")) { sent = true; socket.write("frames") }
        if (read.endsWith("frames")) { console.log(read.split(" ")[1], read.slice(-6)); socket.destroy() } })`
    expect(await inPod("caller", script)).toBe("101 frames")
  })

  it("uses a server-first protocol", async () => {
    const script = `const socket = require("node:net").connect({ port: 82, host: "server.${SERVED}", allowHalfOpen: true }); let read = ""
      socket.on("data", chunk => { read += chunk; if (read === "hello ") socket.end("world") }).on("end", () => console.log(read))`
    expect(await inPod("caller", script)).toBe("hello world")
  })

  it("uploads and downloads large bodies", async () => {
    const script = `const size = 20_000_000
      Promise.all([
        fetch("http://server.${SERVED}/", { method: "POST", body: Buffer.alloc(size, "y") }).then(answer => answer.json()).then(({ bytes }) => bytes),
        fetch("http://server.${SERVED}/", { headers: { "x-size": String(size) } }).then(answer => answer.arrayBuffer()).then(body => body.byteLength),
      ]).then(sizes => console.log(sizes.join()))`
    expect(await inPod("caller", script)).toBe("20000000,20000000")
  })

  it("completes as a Job whose init container calls too", async () => {
    const call = `fetch("http://server.${SERVED}/").then(answer => process.exit(answer.status === 200 ? 0 : 1), () => process.exit(2))`
    const container = (name: string) => answering({ name, command: ["node", "-e", call], ports: [] })
    await apply({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "calling", namespace: CALLS },
      spec: {
        backoffLimit: 0,
        template: {
          spec: {
            serviceAccountName: "caller",
            restartPolicy: "Never",
            initContainers: [container("first")],
            containers: [container("app")],
          },
        },
      },
    })
    await kubectl("wait", "job/calling", "-n", CALLS, "--for=condition=Complete", "--timeout=150s")
  })
})

describe("destinations outside the mesh", () => {
  it("are reached as before: a Pod without a proxy, by name and address", async () => {
    const address = await kubectl("get", "pod", "bare", "-n", "bare", "-o", "jsonpath={.status.podIP}")
    for (const host of ["bare.bare", `${address}:8080`]) {
      const { status: code, body } = await fetched(`http://${host}/`)
      expect({ host, code }).toEqual({ host, code: 200 })
      expect(JSON.parse(body).caller).toBeUndefined()
    }
  })

  it("are reached as before: the API server", async () => {
    const script = `process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
      fetch("https://kubernetes.default/healthz").then(answer => console.log(answer.status))`
    expect(await inPod("caller", script)).toMatch(/^(200|401|403)$/)
  })

  it("that do not accept connections end the connection", async () => {
    const address = await kubectl("get", "pod", "bare", "-n", "bare", "-o", "jsonpath={.status.podIP}")
    expect((await fetched(`http://${address}:9999/`)).status).toBe(0)
  })
})

describe("while the control plane is down", () => {
  const CONTROL_PLANE = ["-n", "merlon-system"]
  let replicas = ""
  let unasked = ""
  let apiServer = ""

  const proxyLog = (...args: string[]) => kubectl("logs", "caller", "-n", CALLS, "-c", "merlon-xserver", ...args)
  const restarts = () => {
    const count = '{.status.initContainerStatuses[?(@.name=="merlon-xserver")].restartCount}'
    return kubectl("get", "pod", "caller", "-n", CALLS, "-o", `jsonpath=${count}`)
  }

  beforeAll(async () => {
    await apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "unasked", namespace: SERVED, labels: { app: "unasked" } },
      spec: { terminationGracePeriodSeconds: 1, containers: [serving()] },
    })
    await kubectl("wait", "pod/unasked", "-n", SERVED, "--for=condition=Ready", "--timeout=150s")
    // When every proxy enforces STRICT, the control plane has pushed this address to all of them.
    await kubectl("wait", "pa/default", "-n", "merlon-system", "--for=condition=Enforced", "--timeout=150s")
    unasked = `${await kubectl("get", "pod", "unasked", "-n", SERVED, "-o", "jsonpath={.status.podIP}")}:8080`
    apiServer = await apiServerAddress()
    expect((await fetched(`http://server.${SERVED}/`)).status).toBe(200)
    replicas = await kubectl("get", "deploy/merlond", ...CONTROL_PLANE, "-o", "jsonpath={.spec.replicas}")
  })

  afterAll(async () => {
    await kubectl("scale", "deploy/merlond", ...CONTROL_PLANE, `--replicas=${replicas}`)
    await kubectl("rollout", "status", "deploy/merlond", ...CONTROL_PLANE, "--timeout=150s")
  })

  const reached = async (): Promise<void> => {
    expect((await fetched(`http://server.${SERVED}/`)).status).toBe(200)
    // The API server requires TLS and responds with 400 to plaintext.
    expect((await fetched(`http://${apiServer}/`)).status).toBe(400)
    expect((await fetched(`http://${unasked}/`)).status).toBe(0)
    const rejected = (line: string) => line.includes(unasked) && line.includes("mtls-unknown")
    expect((await proxyLog()).split("\n").filter(rejected).length).toBeGreaterThan(0)
  }

  it("a proxy reaches known destinations, and none that requires mTLS in plaintext", async () => {
    const since = `--since-time=${new Date().toISOString()}`
    await kubectl("scale", "deploy/merlond", ...CONTROL_PLANE, "--replicas=0")
    const left = () => kubectl("get", "pods", ...CONTROL_PLANE, "-l", "app.kubernetes.io/name=merlond", "-o", "name")
    await expect.poll(left, { timeout: 150_000, message: "the last replica to end" }).toBe("")
    const away = { timeout: 150_000, message: "the caller's proxy to lose the control plane" }
    await expect.poll(() => proxyLog(since), away).toContain("disconnected from the control plane")
    await reached()
  })

  it("a restarted proxy does the same", async () => {
    const before = await restarts()
    await tryKubectl(["exec", "-n", CALLS, "caller", "-c", "merlon-xserver", "--", "node", "-e", "process.kill(1)"])
    await expect.poll(restarts, { timeout: 60_000, message: "the proxy to start again" }).not.toBe(before)
    // The restarted proxy has a new log.
    await kubectl("wait", "pod/caller", "-n", CALLS, "--for=condition=Ready", "--timeout=150s")
    const answers = { timeout: 60_000, message: "a known host to answer" }
    await expect.poll(async () => (await fetched(`http://server.${SERVED}/`)).status, answers).toBe(200)
    await reached()
  })
})
