// SPDX-License-Identifier: Apache-2.0
// Clocks that are changed while everything runs, of a proxy and of the control plane, by an hour and by a year, forward
// and back. No unauthorized caller is allowed, no process exits, and when the clock is right everything recovers by
// itself.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { deny, Mesh, policy } from "../e2e/control/support/mesh.js"
import { WrongClock } from "./support/wrong-clock.js"

const SLOW = { timeout: 150_000, interval: 200 }

describe("a clock that is set (needs libfaketime)", { tags: ["needs/libfaketime"], timeout: 600_000 }, () => {
  const clocks = { control: new WrongClock(), httpbin: new WrongClock() }
  let mesh: Mesh
  let httpbin: DeclaredWorkload
  let caller: DeclaredWorkload
  let changes = 0

  beforeAll(async () => {
    mesh = await Mesh.start({ env: clocks.control.env })
    httpbin = await mesh.workload("httpbin", {}, clocks.httpbin.env)
    caller = await mesh.workload("caller")
    await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }))
    await mesh.api.becomes("PeerAuthentication", "mode", "foo", "Enforced", "True")
    await mesh.api.put(deny("closed", "/closed"))
    await mesh.api.becomes("AuthorizationPolicy", "closed", "foo", "Enforced", "True")
  })
  afterEach(() => {
    for (const clock of Object.values(clocks)) clock.set("+0")
  })
  afterAll(async () => {
    await mesh.close()
    for (const clock of Object.values(clocks)) clock.close()
  })

  /** Permitted callers are allowed, others are not, and all proxies enforce a change. */
  async function allIsWell(): Promise<void> {
    await expect.poll(() => httpbin.getAs(caller, "/"), SLOW).toBe(200)
    await expect.poll(() => caller.getAs(httpbin, "/"), SLOW).toBe(200)
    await stillDenies()
    await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), SLOW).toBe(2)
    changes++
    await expect
      .poll(() => mesh.api.put(deny("change", `/change-${changes}`)).then(() => "stored", String), SLOW)
      .toBe("stored")
    await expect.poll(() => httpbin.getAs(caller, `/change-${changes}`), SLOW).toBe(403)
    await expect.poll(() => caller.getAs(httpbin, `/change-${changes}`), SLOW).toBe(403)
  }

  async function stillDenies(): Promise<void> {
    // 0 if the handshake fails.
    for (const path of ["/closed", "/"]) expect(await httpbin.get(path), `plaintext ${path}`).toBe(0)
    expect([0, 403]).toContain(await httpbin.getAs(caller, "/closed"))
    expect([0, 403]).toContain(await caller.getAs(httpbin, "/closed"))
  }

  it("is right to begin with", allIsWell)

  it.each(["+1h", "-1h", "+1y", "-1y"])(
    "of a proxy, by %s: it keeps what it enforces, and recovers when the clock is right",
    async offset => {
      clocks.httpbin.set(offset)
      await taken(`http://${httpbin.address}:15021/healthz/live`, offset)
      // By its own clock every certificate has expired or is not valid yet, except when it is an hour ahead, which a
      // one-day certificate outlives.
      const expected = offset === "+1h" ? 200 : 0
      await expect.poll(() => httpbin.getAs(caller, "/"), SLOW).toBe(expected)
      await stillDenies()
      clocks.httpbin.set("+0")
      await allIsWell()
    },
  )

  it.each(["+1h", "-1h", "+1y", "-1y"])(
    "of the control plane, by %s: proxies continue, and the mesh recovers",
    async offset => {
      clocks.control.set(offset)
      await taken(`http://127.0.0.1:${mesh.control.healthPort}/healthz/live`, offset)
      expect(await httpbin.getAs(caller, "/")).toBe(200)
      expect(await caller.getAs(httpbin, "/")).toBe(200)
      await stillDenies()
      clocks.control.set("+0")
      await allIsWell()
    },
  )

  it("of the control plane while a certificate is renewed: the proxy keeps the valid one", async () => {
    const before = httpbin.credentials.chain
    clocks.control.set("+1y")
    await taken(`http://127.0.0.1:${mesh.control.healthPort}/healthz/live`, "+1y")
    await caller.xserver.kill()
    await caller.run()
    await stillDenies()
    clocks.control.set("+0")
    await allIsWell()
    expect(httpbin.credentials.chain).toBe(before)
  })

  it("of a control plane that was started with it: the mesh recovers after a restart", async () => {
    await mesh.control.kill()
    clocks.control.set("+1y")
    await mesh.control.run()
    await stillDenies()
    expect(await httpbin.getAs(caller, "/")).toBe(200)
    clocks.control.set("+0")
    await mesh.control.kill()
    await mesh.control.run()
    await allIsWell()
  })

  it("ends no process", () => {
    for (const { stderr } of [mesh.control.program, httpbin.xserver]) {
      expect(stderr).not.toMatch(/uncaught|unhandled/i)
    }
  })

  /** Waits until the process uses its new time, by the `Date` of its responses. */
  async function taken(url: string, offset: string): Promise<void> {
    const hour = 3_600_000
    const off = async (): Promise<number> => {
      const date = (await fetch(url)).headers.get("date") ?? ""
      return Math.round((Date.parse(date) - Date.now()) / hour)
    }
    await expect.poll(off, SLOW).toBe(hours(offset))
  }
})

function hours(offset: string): number {
  const hours = offset.endsWith("y") ? 365 * 24 : 1
  return offset.startsWith("-") ? -hours : hours
}
