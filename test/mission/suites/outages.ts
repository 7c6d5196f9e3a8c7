// SPDX-License-Identifier: Apache-2.0
// Parts of the mesh stop. Proxies keep enforcing the last policies, also after their own restart, and changes apply
// again once the control plane is back.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { policy, sample, together } from "../support/manifests.js"
import { type Mission, succeeded } from "../support/mission.js"
import { run } from "../support/run.js"

const PATIENCE = { timeout: 90_000, interval: 500 }
/** For checks that only read a file. */
const RECORDED = { timeout: 90_000, interval: 50 }
const HTTPBIN = "foo.httpbin-1.xserver"
const CONTROL_PLANE = "control-plane"

let mission: Mission

/** Its policies stay, because the next suite stops the mesh. */
export function outages(of: () => Mission): void {
  beforeAll(async () => {
    mission = of()
    const { names } = mission
    const strict = policy(names, "PeerAuthentication", "default", "app", { mtls: { mode: "STRICT" } })
    const all = together(sample("web-split", names), strict, denied("/status/418"))
    succeeded(await mission.merlonctl(["apply", "--wait", "--timeout", "120s", "-f", "-"], all))
  })

  describe("with the control plane killed", () => {
    let outage: Outage
    let client: string

    beforeAll(async () => {
      const running = mission.runningXclient("--listen", "127.0.0.1:0")
      client = (await running.printed(/listening on (\S+)/))[1] ?? ""
      expect(await callsThrough(client)).toEqual({ v1: 5, v2: 5 })
      outage = new Outage(CONTROL_PLANE)
      await outage.begun()
    })
    afterAll(() => outage.end())

    it("traffic continues", async () => {
      expect(await mission.httpbin("/headers")).toMatchObject({ status: 200 })
      expect(await callsThrough(client)).toEqual({ v1: 5, v2: 5 })
    })

    it("enforcement continues", expectEnforcement)

    it("an xserver that is killed comes back with the policies that it enforced last", async () => {
      const before = pidOf(HTTPBIN)
      expect(before).toBeGreaterThan(0)
      process.kill(before ?? 0, "SIGKILL")
      await isReadyAgain(HTTPBIN, before)
      expect(await mission.httpbin("/headers")).toMatchObject({ status: 200 })
      await expectEnforcement()
    })

    it("`merlonctl status` reports the outage, and fails", async () => {
      const { code, out } = await mission.merlonctl(["status"])
      expect(code).toBe(1)
      expect(out).toMatch(/control plane +not ready: /)
      expect(out).toMatch(/httpbin-1 +yes/)
    })

    it("merlonctl names the server that does not answer, and exits 3", async () => {
      const { code, err } = await mission.merlonctl(["get", "policies", "-A"])
      expect(code).toBe(3)
      expect(err).toMatch(/127\.0\.0\.1:\d+/)
    })
  })

  describe("with the control plane back", () => {
    beforeAll(() => isReadyAgain(CONTROL_PLANE, undefined))

    it("nothing that was stored is lost, and all proxies report that they enforce it", async () => {
      await mission.enforced("peerauthentication", "default", "app")
      await mission.enforced("authorizationpolicy", "deny", "foo")
      await expectEnforcement()
    })

    it("changes take effect", async () => {
      await mission.enforce(denied("/status/200"), "authorizationpolicy", "deny", "foo")
      expect(await mission.httpbin("/status/200")).toMatchObject({ status: 403 })
      expect(await mission.httpbin("/status/418")).toMatchObject({ status: 418 })
      await mission.enforce(denied("/status/418"), "authorizationpolicy", "deny", "foo")
      await expectEnforcement()
    })

    it("clients get their routes", async () => {
      const { code, out } = await mission.xclient("--expect", "v1=50,v2=50", "20")
      expect({ code, out }).toEqual({ code: 0, out: "v1 10 50%\nv2 10 50%\n" })
    })
  })

  it("an xserver that is killed while everything else runs is restarted, and counts again", async () => {
    const before = pidOf(HTTPBIN)
    process.kill(before ?? 0, "SIGKILL")
    await isReadyAgain(HTTPBIN, before)
    await expectEnforcement()
    await mission.enforce(denied("/status/200"), "authorizationpolicy", "deny", "foo")
    expect(await mission.httpbin("/status/200")).toMatchObject({ status: 403 })
  })
}

async function expectEnforcement(): Promise<void> {
  expect(await mission.httpbin("/status/418")).toEqual({ status: 403, body: "RBAC: access denied" })
  expect(await mission.web()).toEqual({ status: 0, body: "" })
}

function denied(path: string): string {
  const spec = { action: "DENY", rules: [{ to: [{ operation: { paths: [path] } }] }] }
  return policy(mission.names, "AuthorizationPolicy", "deny", "foo", spec)
}

function pidOf(name: string): number | undefined {
  return mission.record.processes.find(process => process.name === name)?.pid
}

/** Waits until the supervisor has started another process, and that one is ready. */
async function isReadyAgain(name: string, before: number | undefined): Promise<void> {
  await vi.waitFor(() => expect(pidOf(name) ?? before).not.toBe(before), RECORDED)
  // Queried directly, because `merlonctl status` would be a process each time.
  const { workloads, ports } = mission.record
  const place = workloads.find(one => name.startsWith(`${one.namespace}.${one.name}.`))?.place
  const url = place
    ? `http://${place.address}:${place.health}/healthz/ready`
    : `http://127.0.0.1:${ports.health}/readyz`
  await vi.waitFor(async () => expect((await fetch(url)).status).toBe(200), PATIENCE)
}

async function callsThrough(proxy: string): Promise<{ readonly v1: number; readonly v2: number }> {
  const env = { PATH: process.env.PATH ?? "", http_proxy: `http://${proxy}` }
  const { out } = await run("curl", ["-sS", "http://web/?[1-10]"], env)
  const count = (version: string): number => out.split(`hello from web ${version}`).length - 1
  return { v1: count("v1"), v2: count("v2") }
}

/** Keeps a process down: whenever its supervisor starts it, it is killed before it can serve. */
class Outage {
  readonly #name: string
  readonly #looking: NodeJS.Timeout
  readonly #killed = new Set<number>()

  constructor(name: string) {
    this.#name = name
    this.#looking = setInterval(() => this.#look(), 20)
    this.#look()
  }

  async begun(): Promise<void> {
    await vi.waitFor(() => expect(pidOf(this.#name) ?? "none").toBe("none"), RECORDED)
  }

  end(): void {
    clearInterval(this.#looking)
  }

  #look(): void {
    const pid = pidOf(this.#name)
    if (pid === undefined || this.#killed.has(pid)) return
    this.#killed.add(pid)
    process.kill(pid, "SIGKILL")
  }
}
