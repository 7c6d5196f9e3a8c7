// SPDX-License-Identifier: Apache-2.0
// Ordinary programs in a local mesh that accepts only mTLS and allows by principal: they call by Service name, know
// nothing of the mesh, and have the identity of their workload.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { type Ended, Merlonctl } from "./support/merlonctl.js"
import { ownAndIngressPorts } from "./support/own-ports.js"

const POLICIES = `
apiVersion: security.merlon.dev/v1alpha3
kind: PeerAuthentication
metadata: { name: default, namespace: merlon-system }
spec: { mtls: { mode: STRICT } }
---
apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: callers, namespace: foo }
spec:
  action: ALLOW
  rules:
    - from: [{ source: { principals: [cluster.local/ns/app/sa/consumer, cluster.local/ns/demo/sa/shop] } }]
`

const URLLIB = `
from urllib.request import urlopen
from urllib.error import HTTPError
try: print(urlopen("http://httpbin.foo:8000/headers").read().decode())
except HTTPError as error: print(error.code, error.headers["x-merlon-decision"])
`

/** Makes calls before it listens, and for every request. */
const SHOP = `
import http.server, os
from urllib.request import urlopen
call = lambda: urlopen("http://httpbin.foo:8000/headers").read()
print(call().decode(), flush=True)
class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = call()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Shop).serve_forever()
`

const GRPC = `import grpc from ${JSON.stringify(resolve("node_modules/@grpc/grpc-js/build/src/index.js"))}
const same = bytes => bytes
`
const GRPC_SERVER = `${GRPC}
const method = { path: "/echo.Echo/Caller", requestStream: false, responseStream: false }
const formats = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same }
const server = new grpc.Server()
server.addService({ caller: { ...method, ...formats } }, {
  caller: ({ metadata }, reply) => reply(null, Buffer.from(String(metadata.get("x-forwarded-client-cert")[0]))),
})
server.bindAsync(process.env.HOST + ":" + process.env.PORT, grpc.ServerCredentials.createInsecure(), () => undefined)
`
const GRPC_CLIENT = `${GRPC}
const client = new grpc.Client("echo.demo:9000", grpc.credentials.createInsecure())
client.makeUnaryRequest("/echo.Echo/Caller", same, same, Buffer.alloc(0), (error, bytes) => {
  console.log(error?.message ?? String(bytes))
  client.close()
})
`
const FETCH = `fetch("http://httpbin.foo:8000/headers").then(response => response.text()).then(console.log)`

const folder = mkdtempSync(join(tmpdir(), "ordinary-programs-"))
const mesh = new Merlonctl(join(folder, "mesh"))
const written = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const as = (workload: string, ...program: readonly string[]): Promise<Ended> =>
  mesh.run("exec", workload, "-n", "app", "--", ...program)
const identity = (name: string): string => `URI=spiffe://cluster.local/ns/${name}`

beforeAll(async () => {
  const up = await mesh.run("up", "--detach", ...(await ownAndIngressPorts()))
  expect(up.code, up.stderr).toBe(0)
  const applied = await mesh.run("apply", "--wait", "-f", written("policies.yaml", POLICIES))
  expect(applied.code, applied.stderr).toBe(0)
})

afterAll(async () => {
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
})

async function expectDenied({ stdout }: Ended): Promise<void> {
  const [status, id = ""] = stdout.trim().split(" ")
  expect(status).toBe("403")
  // A proxy that times out, as on a busy machine, is queried again.
  await vi.waitFor(
    async () => {
      const { stdout: explained } = await mesh.run("explain", id)
      expect(explained).toContain("no ALLOW rule matches")
      expect(explained).toContain("cluster.local/ns/app/sa/web")
    },
    { timeout: 90_000, interval: 500 },
  )
  await expectBothLogged(id)
}

/** Both proxies report the same request and the same decision, and the control plane knows it from both. */
async function expectBothLogged(decisionId: string): Promise<void> {
  const logged = async (workload: string, namespace: string): Promise<{ readonly requestId?: string }[]> => {
    const { stdout } = await mesh.run("logs", workload, "-n", namespace)
    const lines = stdout.split("\n").filter(line => line.includes(decisionId))
    return lines.map(line => JSON.parse(line.slice(line.indexOf("{"))))
  }
  await vi.waitFor(
    async () => {
      const [sent, ...more] = await logged("web-v1", "app")
      expect(more).toEqual([])
      expect(sent).toMatchObject({
        ...{ direction: "outbound", destination: "httpbin.foo.svc.cluster.local:8000", transport: "mtls" },
        ...{
          status: 403,
          requestId: expect.any(String),
          decisionId,
          decidedBy: expect.stringMatching(/^foo\/httpbin/),
        },
      })
      const requestId = sent?.requestId
      expect(await logged("httpbin", "foo")).toMatchObject([{ verdict: "deny", status: 403, requestId, decisionId }])
      const { stdout } = await mesh.run("describe", "workload", "web-v1-1", "-n", "app", "-o", "json")
      expect(JSON.parse(stdout)).toMatchObject({
        pods: [{ proxy: { calls: "http_proxy" } }],
        destinations: expect.arrayContaining([
          expect.objectContaining({
            ...{ workload: "app/web-v1-1", destination: "httpbin.foo.svc.cluster.local:8000", to: "foo/httpbin-1" },
            ...{ place: "mesh", transport: "mtls", lastStatus: 403, lastDecision: decisionId },
          }),
        ]),
      })
    },
    { timeout: 90_000, interval: 500 },
  )
  const { address, health } = mesh.record.workloads.find(({ name }) => name.startsWith("web-v1"))?.place ?? {}
  const metrics = await (await fetch(`http://${address}:${health}/metrics`)).text()
  expect(metrics).toMatch(
    /^merlon_xclient_requests_total\{destination="httpbin\.foo\.svc\.cluster\.local:8000",transport="mtls",code="4xx"\} \d/m,
  )
}

describe("curl", { tags: ["needs/curl"] }, () => {
  it("calls as its workload", async () => {
    const { stdout } = await as("consumer", "curl", "-sS", "http://httpbin.foo:8000/headers")
    expect(stdout).toContain(identity("app/sa/consumer"))
  })

  it("calls as its workload through a tunnel", async () => {
    const { stdout } = await as("consumer", "curl", "-sS", "--proxytunnel", "http://httpbin.foo:8000/headers")
    expect(stdout).toContain(identity("app/sa/consumer"))
  })

  it("gets 403 and a decision to explain if its workload may not call", async () => {
    const status = ["-o", "/dev/null", "-w", "%{http_code} %header{x-merlon-decision}"]
    await expectDenied(await as("web-v1", "curl", "-sS", ...status, "http://httpbin.foo:8000/headers"))
  })

  it("finds a Service of its namespace by its short name", async () => {
    expect((await as("consumer", "curl", "-sS", "http://web/")).stdout).toMatch(/^hello from web v[12]\n$/)
  })

  it("still reaches hosts outside of the mesh", async () => {
    const url = `http://localhost:${mesh.record.ports.health}/readyz`
    expect((await as("consumer", "curl", "-sS", url)).stdout.trim()).toBe("ok")
    expect((await as("consumer", "curl", "-sS", "--noproxy", "", url)).stdout.trim()).toBe("ok")
  })

  it.runIf(process.platform === "linux" && process.geteuid?.() === 0)(
    "does not call as a workload for another user of the machine (needs root)",
    async () => {
      const { place } = mesh.record.workloads.find(({ name }) => name === "consumer-1") ?? {}
      const args = ["-sS", "-x", `http://${place?.address}:${place?.outbound}`, "http://httpbin.foo:8000/headers"]
      const curl = (uid: number) => promisify(execFile)("curl", args, { uid, env: { PATH: process.env.PATH ?? "" } })
      expect((await curl(54_321)).stdout).toContain("only root and the user that the merlon proxy runs as")
      expect((await curl(0)).stdout).toContain(identity("app/sa/consumer"))
    },
  )
})

describe("Python's urllib", { tags: ["needs/python3"] }, () => {
  it("calls as its workload", async () => {
    expect((await as("consumer", "python3", "-c", URLLIB)).stdout).toContain(identity("app/sa/consumer"))
  })

  it("gets 403 and a decision to explain if its workload may not call", async () => {
    await expectDenied(await as("web-v1", "python3", "-c", URLLIB))
  })

  it("calls from a program of `merlonctl run`, from its first line on", async () => {
    const program = written("shop.py", SHOP)
    const run = await mesh.run("run", "shop", "-n", "demo", "--port", "8080", "--", "python3", program)
    expect(run.code, run.stderr).toBe(0)
    expect((await mesh.run("logs", "shop-1", "-c", "app")).stdout).toContain(identity("demo/sa/shop"))
    const asked = `from urllib.request import urlopen; print(urlopen("http://shop.demo:8080/").read().decode())`
    expect((await as("consumer", "python3", "-c", asked)).stdout).toContain(identity("demo/sa/shop"))
  })
})

describe("Node", () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

  it("calls over gRPC as its workload", async () => {
    const server = ["node", written("server.mjs", GRPC_SERVER)]
    const run = await mesh.run("run", "echo", "-n", "demo", "--port", "9000", "--protocol", "grpc", "--", ...server)
    expect(run.code, run.stderr).toBe(0)
    const { stdout } = await as("consumer", "node", written("client.mjs", GRPC_CLIENT))
    expect(stdout).toContain(identity("app/sa/consumer"))
  })

  it.runIf(major >= 24 || (major === 22 && minor >= 21))(
    "calls by fetch as its workload (needs Node 22.21 or 24)",
    async () => {
      expect((await as("consumer", "node", "-e", FETCH)).stdout).toContain(identity("app/sa/consumer"))
    },
  )
})
