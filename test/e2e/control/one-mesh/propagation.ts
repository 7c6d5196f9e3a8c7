// SPDX-License-Identifier: Apache-2.0
// A policy change on its way to proxies and back to the policy's status, with a control plane process and proxies on
// real streams: which proxy gets what, and what the status says about proxies that have not acknowledged.

import { beforeAll, describe, expect, it } from "vitest"
import { type BareProxy, reject } from "../support/bare-proxy.js"
import { WAIT } from "../support/cluster-api.js"
import { deny, type Mesh } from "../support/mesh.js"

const AP = "AuthorizationPolicy"

export function propagation(started: () => Mesh): void {
  describe("propagation of a policy change", () => {
    let mesh: Mesh

    beforeAll(() => {
      mesh = started()
    })

    it("sends bytes only to the proxies it selects, on the wire", async () => {
      const relays = [await mesh.relay(), await mesh.relay(), await mesh.relay()]
      const [one, two, three] = relays
      const proxies: BareProxy[] = []
      for (const [index, { port }] of relays.entries()) {
        proxies.push(await mesh.bareProxy(`wire-${index}`, { namespace: "wire", meshPort: port }))
      }
      // A policy that all of them get: the last update before the wire is idle.
      await mesh.api.put(deny("all", "/all", undefined, "wire"))
      await mesh.api.becomes(AP, "all", "wire", "Enforced", "True")
      const before = relays.map(({ bytes }) => bytes)
      const updates = proxies.map(proxy => proxy.updates.length)

      await mesh.api.put(deny("one", "/one", "wire-1", "wire"))
      await mesh.api.becomes(AP, "one", "wire", "Enforced", "True")
      await mesh.api.put(deny("one", "/two", "wire-1", "wire"))
      await mesh.api.becomes(AP, "one", "wire", "Enforced", "True")

      expect(two?.bytes).toBeGreaterThan((before[1] ?? 0) + 200)
      expect(one?.bytes).toBe(before[0])
      expect(three?.bytes).toBe(before[2])
      expect(proxies.map(proxy => proxy.updates.length)).toEqual([updates[0], (updates[1] ?? 0) + 2, updates[2]])
      // The selected proxy got only what changed.
      expect(proxies[1]?.sent.slice(-2)).toEqual([`policy/${AP}/wire/one`, `policy/${AP}/wire/one`])
    })

    it("`kubectl wait --for=condition=Enforced` returns only when the last proxy has acknowledged (needs kubectl)", {
      tags: ["needs/kubectl"],
    }, async () => {
      const quick = await mesh.bareProxy("wait-0", { namespace: "wait" })
      const slow = await mesh.bareProxy("wait-1", { namespace: "wait" })
      let release = (): void => undefined
      let arrived = (): void => undefined
      const held = new Promise<void>(resolve => {
        arrived = resolve
      })
      slow.behaviour = () => {
        arrived()
        return new Promise(resolve => {
          release = resolve
        })
      }
      await mesh.api.put(deny("wait", "/wait", undefined, "wait"))
      let returned = false
      const waiting = mesh.api.kubectl("wait --for=condition=Enforced ap/wait -n wait --timeout=120s").then(ran => {
        returned = true
        return ran
      })
      await held
      await expect.poll(() => quick.held.has(`policy/${AP}/wait/wait`), WAIT).toBe(true)
      await expect
        .poll(async () => (await mesh.api.condition(AP, "wait", "wait", "Enforced"))?.message, WAIT)
        .toBe("enforced by 1 of 2 proxies at generation 1; waiting for wait/wait-1")
      expect(returned).toBe(false)

      release()
      expect(await waiting).toMatchObject({ code: 0, out: expect.stringContaining("condition met") })
      expect(await mesh.api.condition(AP, "wait", "wait", "Enforced")).toMatchObject({
        status: "True",
        message: "enforced by 2 of 2 proxies at generation 1",
      })
    })

    it("a NACK keeps the last good one and shows on the policy's status with the reason", async () => {
      const proxy = await mesh.bareProxy("nack-0", { namespace: "nack" })
      await mesh.api.put(deny("nack", "/good", undefined, "nack"))
      await mesh.api.becomes(AP, "nack", "nack", "Enforced", "True")
      const name = `policy/${AP}/nack/nack`
      const good = proxy.held.get(name)
      const rejections = await mesh.control.metric('merlon_control_rejected_updates_total{type="proxy"}')

      proxy.behaviour = reject("this proxy cannot read `paths`")
      await mesh.api.put(deny("nack", "/bad", undefined, "nack"))
      // The first status may say that it is waiting for the proxy.
      await expect
        .poll(() => mesh.api.condition(AP, "nack", "nack", "Enforced"), WAIT)
        .toMatchObject({
          reason: "Rejected",
          message:
            "enforced by 0 of 1 proxy at generation 2; `nack/nack-0` rejected it: this proxy cannot read `paths`",
        })
      expect(proxy.held.get(name)).toBe(good)
      expect(await mesh.control.metric('merlon_control_rejected_updates_total{type="proxy"}')).toBeGreaterThan(
        rejections,
      )

      // The next valid version clears the error.
      proxy.behaviour = () => Promise.resolve()
      await mesh.api.put(deny("nack", "/better", undefined, "nack"))
      expect((await mesh.api.becomes(AP, "nack", "nack", "Enforced", "True")).message).toContain("1 of 1 proxy")
    })
  })
}
