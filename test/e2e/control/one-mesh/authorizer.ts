// SPDX-License-Identifier: Apache-2.0
// An authorizer in a mesh: it receives the policies that select it, acknowledges them and counts like any proxy.

import { describe, expect, it } from "vitest"
import { WAIT } from "../support/cluster-api.js"
import { type Mesh, policy } from "../support/mesh.js"

const AP = "AuthorizationPolicy"

export function authorizer(started: () => Mesh): void {
  describe("merlond authorizer in a mesh", () => {
    it("enforces a policy, and the status names a replica that has not acknowledged it", async () => {
      const mesh = started()
      const replica = { namespace: "edge", labels: { "merlon.dev/gateway": "public" }, serviceAccount: "gateway" }
      const first = await mesh.declare("gateway-0", replica)
      await first.run({}, "authorizer")
      const second = await mesh.bareProxy("gateway-1", replica, { enforcer: "authorizer" })
      let release = (): void => undefined
      second.behaviour = () =>
        new Promise(resolve => {
          release = resolve
        })
      const target = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "public" }
      const rules = [{ to: [{ operation: { paths: ["/closed"] } }] }]
      await mesh.api.put(policy(AP, "closed", { targetRefs: [target], action: "DENY", rules }, "edge"))
      await expect
        .poll(async () => (await mesh.api.condition(AP, "closed", "edge", "Enforced"))?.message, WAIT)
        .toBe("enforced by 1 of 2 authorizers at generation 1; waiting for edge/gateway-1")
      const asked = ["/ext-authz/open", "/ext-authz/closed", "/open"].map(path => first.get(path))
      expect(await Promise.all(asked)).toEqual([200, 403, 403])
      release()
      expect((await mesh.api.becomes(AP, "closed", "edge", "Enforced", "True")).message).toBe(
        "enforced by 2 of 2 authorizers at generation 1",
      )
    })
  })
}
