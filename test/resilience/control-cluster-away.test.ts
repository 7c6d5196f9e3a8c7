// SPDX-License-Identifier: Apache-2.0
// The API server hangs, or is killed and restarted, while the control plane continues to serve.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { BareProxy } from "../e2e/control/support/bare-proxy.js"
import { WAIT } from "../e2e/control/support/cluster-api.js"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { deny, Mesh } from "../e2e/control/support/mesh.js"

const AP = "AuthorizationPolicy"
const CONNECTED = "merlon_control_connected_proxies"
const SLOW = { timeout: 90_000, interval: 200 }

describe("while the API server is down", () => {
  let mesh: Mesh
  let httpbin: DeclaredWorkload

  beforeAll(async () => {
    mesh = await Mesh.start({ separateCluster: true })
    httpbin = await mesh.workload("httpbin")
    await mesh.api.put(deny("secret", "/secret"))
    await mesh.api.becomes(AP, "secret", "foo", "Enforced", "True")
  })
  afterAll(async () => {
    mesh.cluster.signal("SIGCONT")
    await mesh.close()
  })

  /** Connected proxies stay, and one with a certificate reconnects without a request to the API. */
  async function servesMeanwhile(denied: string): Promise<void> {
    expect(await httpbin.get(denied)).toBe(403)
    expect(await httpbin.get("/public")).toBe(200)
    expect((await mesh.control.health("/readyz")).status).toBe(200)
    // Long enough that no replica may still consider itself the leader.
    await expect.poll(() => mesh.control.metric("merlon_control_leader"), SLOW).toBe(0)
    expect(await mesh.control.metric(CONNECTED)).toBe(1)
    await httpbin.xserver.kill()
    await expect.poll(() => mesh.control.metric(CONNECTED), SLOW).toBe(0)
    await httpbin.run()
    await expect.poll(() => mesh.control.metric(CONNECTED), SLOW).toBe(1)
    expect(await httpbin.get(denied)).toBe(403)
  }

  async function changeArrives(path: string): Promise<void> {
    await expect.poll(() => mesh.api.put(deny("secret", path)).then(() => "stored", String), SLOW).toBe("stored")
    await expect.poll(() => httpbin.get(path), SLOW).toBe(403)
    expect(await httpbin.get("/public")).toBe(200)
    await expect
      .poll(async () => (await mesh.api.condition(AP, "secret", "foo", "Enforced"))?.status, SLOW)
      .toBe("True")
  }

  it("because it hangs, proxies are served, and later changes arrive", async () => {
    mesh.cluster.signal("SIGSTOP")
    await servesMeanwhile("/secret")
    mesh.cluster.signal("SIGCONT")
    await changeArrives("/stopped")
  })

  it("because it was killed, proxies are served, and later changes arrive", async () => {
    await mesh.cluster.kill()
    await servesMeanwhile("/stopped")
    await mesh.cluster.run()
    await changeArrives("/killed")
  })

  it("a new proxy with only a token is not admitted, and is admitted when the API is back", async () => {
    const workload = await mesh.declare("late", { namespace: "late" })
    await mesh.cluster.kill()
    const proxy = new BareProxy(workload)
    // Fail closed: no API server could check the token.
    await expect.poll(() => proxy.troubles.length, WAIT).toBeGreaterThan(0)
    expect(proxy.updates).toEqual([])
    await mesh.cluster.run()
    await expect.poll(() => proxy.held.has("workload"), SLOW).toBe(true)
    proxy.close()
  })
})
