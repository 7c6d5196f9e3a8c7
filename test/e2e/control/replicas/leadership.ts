// SPDX-License-Identifier: Apache-2.0
// Two replicas on one cluster: proxies on both, one leader, and what happens when the leader is killed.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { VALIDATING_WEBHOOKS } from "../../../../packages/control/src/kubernetes/resource-type.js"
import { BareProxy, never } from "../support/bare-proxy.js"
import type { ControlProcess } from "../support/control-process.js"
import type { DeclaredWorkload } from "../support/declared-workload.js"
import { deny, type Mesh, policy } from "../support/mesh.js"

const AP = "AuthorizationPolicy"
const SLOW = { timeout: 90_000, interval: 200 }
const NAMESPACE = "led"

interface Replicas {
  /** Its control plane is the first leader. */
  readonly mesh: Mesh
  readonly second: ControlProcess
}

/** `whenKilled`: tests that run after the leader is killed, and before it comes back. */
export function leadership(replicas: () => Replicas, whenKilled: () => void): void {
  describe("of two replicas", () => {
    let mesh: Mesh
    let second: ControlProcess
    let workload: DeclaredWorkload
    let here: BareProxy
    let there: BareProxy

    const put = (name: string, path: string, app?: string) => mesh.api.put(deny(name, path, app, NAMESPACE))
    const enforced = () => mesh.api.condition(AP, "both", NAMESPACE, "Enforced")

    beforeAll(async () => {
      ;({ mesh, second } = replicas())
      here = await mesh.bareProxy("led-here", { namespace: NAMESPACE })
      workload = await mesh.declare("led-there", { namespace: NAMESPACE, meshPort: second.meshPort })
      there = await new BareProxy(workload).ready()
    })
    afterAll(() => {
      here.close()
      there.close()
    })

    it("one leads, and status counts the proxies of both", async () => {
      expect(await mesh.control.metric("merlon_control_leader")).toBe(1)
      expect(await second.metric("merlon_control_leader")).toBe(0)
      await put("both", "/both")
      const { message } = await mesh.api.becomes(AP, "both", NAMESPACE, "Enforced", "True")
      expect(message).toBe("enforced by 2 of 2 proxies at generation 1")
      // Each replica has one of these proxies, and the one that all tests share.
      await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), SLOW).toBe(2)
      await expect.poll(() => second.metric("merlon_control_connected_proxies"), SLOW).toBe(2)
    })

    it("a proxy of the other replica that does not answer is named by the leader", async () => {
      there.behaviour = never
      await put("both", "/changed")
      await expect
        .poll(async () => (await enforced())?.message, SLOW)
        .toBe("enforced by 1 of 2 proxies at generation 2; waiting for led/led-there")
      there.close()
      there = new BareProxy(workload)
      await mesh.api.becomes(AP, "both", NAMESPACE, "Enforced", "True")
    })

    describe("when the leader is killed", () => {
      beforeAll(() => mesh.control.kill())

      whenKilled()

      it("the other one takes over: it writes status and answers for admission", async () => {
        await expect.poll(() => second.metric("merlon_control_leader"), SLOW).toBe(1)
        await expect
          .poll(async () => JSON.stringify(await mesh.api.client.list(VALIDATING_WEBHOOKS)), SLOW)
          .toContain(`:${second.webhookPort}/`)
        await expect.poll(() => put("after", "/after", "led-there").then(() => "stored", String), SLOW).toBe("stored")
        const { message } = await mesh.api.becomes(AP, "after", NAMESPACE, "Enforced", "True")
        expect(message).toBe("enforced by 1 of 1 proxy at generation 1")
        const rule = { issuer: "a", jwksUri: "/keys" }
        const rejected = mesh.api.put(policy("RequestAuthentication", "relative", { jwtRules: [rule] }, NAMESPACE))
        await expect(rejected).rejects.toThrow(/jwksUri/)
        // The status names the proxy that was connected to the killed replica.
        await expect
          .poll(async () => (await enforced())?.message, SLOW)
          .toMatch(/^enforced by 1 of 2 proxies.*not connected: led\/led-here/)
      })

      it("the one that comes back follows", async () => {
        await mesh.control.run()
        await mesh.api.becomes(AP, "both", NAMESPACE, "Enforced", "True")
        expect(await mesh.control.metric("merlon_control_leader")).toBe(0)
        expect(await second.metric("merlon_control_leader")).toBe(1)
      })
    })
  })
}
