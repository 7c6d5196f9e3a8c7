// SPDX-License-Identifier: Apache-2.0
// The real process from an operator's view: ready, counted, explained, changed, restarted, drained.

import { readFileSync, rmSync } from "node:fs"
import { request } from "node:http"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { type Application, startApplication } from "./support/application.js"
import { document, XserverProcess } from "./support/xserver.js"

let application: Application
const running: XserverProcess[] = []

beforeAll(async () => {
  application = await startApplication()
})
afterEach(async () => {
  for (const xserver of running.splice(0)) await xserver.remove()
})
afterAll(() => application.close())

async function start(
  policies: readonly object[] = [],
  more: { args?: readonly string[]; more?: object } = {},
): Promise<XserverProcess> {
  const xserver = await XserverProcess.start({ upstream: application.port, policies, ...more })
  running.push(xserver)
  return xserver
}

const onlyReports = document("AuthorizationPolicy", "reports", {
  rules: [{ to: [{ operation: { paths: ["/reports/*"] } }] }],
})

describe("a denial", () => {
  it("has an id for its explanation, and tells the caller nothing else", async () => {
    const xserver = await start([onlyReports])
    const response = await fetch(`${xserver.url}/secret`)
    expect([response.status, await response.text()]).toEqual([403, "RBAC: access denied"])
    const id = response.headers.get("x-merlon-decision") ?? ""
    expect(id).toMatch(/^[0-9a-f]{20}$/)
    const { body } = await xserver.adminJson(`/decisions/${id}`)
    expect(body).toMatchObject({
      id,
      verdict: "deny",
      stage: "allow",
      reason: expect.stringContaining(
        "nearest rule foo/reports rules[0]: to[0].operation.paths wants one of /reports/*",
      ),
      explanation: { policies: [{ policy: { name: "reports" }, rules: [{ matched: false }] }] },
    })
    expect((await xserver.adminJson("/decisions/none")).status).toBe(404)
  })

  it("is counted by policy and logged with its reason", async () => {
    const xserver = await start([document("AuthorizationPolicy", "closed", { action: "DENY", rules: [{}] })])
    await fetch(`${xserver.url}/a?token=secret`)
    await expect
      .poll(() => xserver.metrics())
      .toContain('merlon_xserver_requests_total{verdict="deny",stage="deny",policy="foo/closed",code="4xx"} 1')
    xserver.signal("SIGTERM")
    expect(await xserver.exit()).toBe(0)
    const [line = "{}"] = xserver.stdout.trim().split("\n")
    expect(JSON.parse(line)).toMatchObject({ verdict: "deny", reason: "denied by foo/closed rules[0]", path: "/a" })
    expect(line).not.toContain("secret")
  })
})

describe("the access log", () => {
  it.each(["1", "2"])("affects only its reader, with %s workers", async workers => {
    const xserver = await start([], { args: ["--workers", workers] })
    const children = childrenOf(xserver.pid)
    xserver.stopReading()
    for (let n = 0; n < 10; n++) {
      expect((await fetch(`${xserver.url}/x`, { headers: { connection: "close" } })).status).toBe(200)
      // Longer than lines are batched.
      await new Promise(resolve => setTimeout(resolve, 120))
    }
    expect(childrenOf(xserver.pid)).toEqual(children)
    xserver.signal("SIGTERM")
    expect(await xserver.exit()).toBe(0)
  })
})

describe("a change", () => {
  it("is enforced when the file changes, and an unusable one changes nothing", async () => {
    const xserver = await start()
    const status = async () => (await fetch(`${xserver.url}/x`)).status
    expect(await status()).toBe(200)
    xserver.configure({ policies: [onlyReports] })
    await xserver.enforced()
    expect(await status()).toBe(403)
    xserver.write("ports: [")
    await xserver.rejected()
    expect(xserver.stderr).toMatch(/revision [2-9] stays in force/)
    expect([await status(), await xserver.ready()]).toEqual([403, 200])
  })
})

describe("a restart", () => {
  it("enforces the last good configuration if the file has become unusable", async () => {
    const xserver = await start([onlyReports])
    await xserver.kill()
    xserver.write("workload: nonsense")
    await xserver.run()
    expect((await fetch(`${xserver.url}/x`)).status).toBe(403)
    expect(xserver.stderr).toContain("enforcing the last good configuration")
  })

  it("exits with one clear sentence if there never was a good one", async () => {
    const xserver = await start()
    await xserver.kill()
    rmSync(`${xserver.folder}/state`, { recursive: true })
    xserver.write("workload: { namespace: foo }\nports: []")
    xserver.stderr = ""
    xserver.launch()
    expect(await xserver.exit()).toBe(1)
    expect(xserver.stderr).toContain("merlond: error[config-value]: workload.name: must be a text; it is missing")
  })
})

describe("shutdown", () => {
  it("completes the request in flight, accepts no new one, and exits with 0", async () => {
    const xserver = await start()
    const seen = application.requests.length
    const inFlight = fetch(`${xserver.url}/delay/700`)
    await expect.poll(() => application.requests.length).toBe(seen + 1)
    xserver.signal("SIGTERM")
    const response = await inFlight
    expect(response.status).toBe(200)
    expect(await xserver.exit()).toBe(0)
    expect(application.requests.length).toBe(seen + 1)
  })
})

describe("probes and admin", () => {
  it("answers the kubelet for the application, only by declared paths", async () => {
    const probes = {
      "/app-health/httpbin/readyz": { port: application.port, path: "/status/204" },
      "/app-health/httpbin/livez": { kind: "tcp", port: application.port },
      "/app-health/dead": { kind: "tcp", port: 1 },
    }
    const xserver = await start([document("PeerAuthentication", "strict", { mtls: { mode: "STRICT" } })], {
      more: { probes },
    })
    const probe = async (path: string) => (await fetch(`http://127.0.0.1:${xserver.health}${path}`)).status
    expect(
      await Promise.all(
        ["/app-health/httpbin/readyz", "/app-health/httpbin/livez", "/app-health/dead", "/app-health/other"].map(probe),
      ),
    ).toEqual([204, 200, 503, 404])
  })

  it("dumps what is enforced without the key, changes the log level, and rejects pages", async () => {
    const xserver = await start([onlyReports])
    const { body } = await xserver.adminJson("/config_dump")
    expect(body).toMatchObject({ phase: "enforcing", configuration: { workload: { namespace: "foo" } } })
    expect(JSON.stringify(body)).not.toContain("PRIVATE KEY")
    const level = await fetch(`http://127.0.0.1:${xserver.admin}/loglevel?level=debug`, { method: "POST" })
    expect(await level.json()).toEqual({ level: "debug" })
    const foreign = await new Promise<number>(resolve => {
      request({ port: xserver.admin, path: "/config_dump", headers: { host: "evil.example" } }, response =>
        resolve(response.statusCode ?? 0),
      ).end()
    })
    expect(foreign).toBe(403)
  })
})

describe("the admin port", () => {
  it("is bound to this machine only", async () => {
    const elsewhere = await XserverProcess.create({ upstream: application.port, args: ["--admin", "0.0.0.0:15000"] })
    running.push(elsewhere)
    elsewhere.launch()
    expect(await elsewhere.exit()).toBe(1)
    expect(elsewhere.stderr).toContain("must be a loopback address")
  })
})

describe("several workers", () => {
  it("enforce together, count together, and replace one that dies", async () => {
    const xserver = await start([onlyReports], { args: ["--workers", "2"] })
    const statuses = await Promise.all(
      Array.from(
        { length: 40 },
        async () => (await fetch(`${xserver.url}/x`, { headers: { connection: "close" } })).status,
      ),
    )
    expect(new Set(statuses)).toEqual(new Set([403]))
    // A request is counted when it is over, which its caller knows earlier.
    await expect
      .poll(() => xserver.metrics())
      .toMatch(/requests_total\{verdict="deny",stage="allow",policy="",code="4xx"\} 40/)
    const { body } = await xserver.adminJson("/decisions")
    expect((body as unknown[]).length).toBe(40)
    xserver.configure({ policies: [] })
    await xserver.enforced()
    const after = await Promise.all(
      Array.from(
        { length: 20 },
        async () => (await fetch(`${xserver.url}/x`, { headers: { connection: "close" } })).status,
      ),
    )
    expect(new Set(after)).toEqual(new Set([200]))
    const [first = 0] = childrenOf(xserver.pid)
    process.kill(first, "SIGKILL")
    await eventually(
      async () => {
        const children = childrenOf(xserver.pid)
        return children.length === 2 && !children.includes(first)
      },
      { what: "another worker replaces the killed one" },
    )
    expect((await fetch(`${xserver.url}/x`)).status).toBe(200)
    xserver.signal("SIGTERM")
    expect(await xserver.exit()).toBe(0)
  })
})

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return text === "" ? [] : text.split(" ").map(Number)
}
