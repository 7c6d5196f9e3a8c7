// SPDX-License-Identifier: Apache-2.0
// Proxies that are slow, silent or very many: the cost for the others, and what the status says.

import { beforeAll, describe, expect, it } from "vitest"
import { policyTypes } from "../../../../packages/control/src/kubernetes/resource-type.js"
import { type BareProxy, never } from "../support/bare-proxy.js"
import { names, WAIT } from "../support/cluster-api.js"
import { deny, type Mesh } from "../support/mesh.js"

const AP = "AuthorizationPolicy"
const ACKNOWLEDGED = 'merlon_control_push_to_ack_seconds_count{type="proxy"}'

export function slowProxies(started: () => Mesh): void {
  describe("a change of policy for slow proxies", () => {
    let mesh: Mesh

    beforeAll(() => {
      mesh = started()
    })

    it("a proxy that never acknowledges is named, and delays no other", async () => {
      const mute = await mesh.bareProxy("mute-0", { namespace: "mute" })
      const others = [
        await mesh.bareProxy("mute-1", { namespace: "mute" }),
        await mesh.bareProxy("mute-2", { namespace: "mute" }),
      ]
      mute.behaviour = never
      for (const path of ["/a", "/b", "/c"]) {
        const acknowledged = await mesh.control.metric(ACKNOWLEDGED)
        await mesh.api.put(deny("mute", path, undefined, "mute"))
        await mesh.api.put(deny("beside", path, "mute-1", "mute"))
        // Each change reaches the others while the mute one has not acknowledged the previous one.
        await mesh.api.becomes(AP, "beside", "mute", "Enforced", "True")
        await expect.poll(() => mesh.control.metric(ACKNOWLEDGED), WAIT).toBeGreaterThanOrEqual(acknowledged + 2)
      }
      await expect
        .poll(async () => (await mesh.api.condition(AP, "mute", "mute", "Enforced"))?.message, WAIT)
        .toBe("enforced by 2 of 3 proxies at generation 3; waiting for mute/mute-0")
      for (const other of others) expect(other.held.has(`policy/${AP}/mute/mute`)).toBe(true)
      // Any other proxy without an acknowledgement is only slow.
      const late = async (): Promise<readonly string[]> => {
        const { text } = await mesh.control.health("/debug/proxies")
        const { proxies } = JSON.parse(text) as { proxies: { key: string; behind: number; lagMs: number }[] }
        return proxies.filter(({ behind }) => behind > 0).map(({ key }) => key)
      }
      await expect.poll(late, WAIT).toEqual(["mute/mute-0"])
      // After half a minute it counts as overdue.
      await expect
        .poll(() => mesh.control.metric("merlon_control_overdue_acknowledgements"), { timeout: 90_000, interval: 500 })
        .toBe(1)
    })

    it("that touches two hundred proxies makes few writes of the policy's status", async () => {
      const count = 200
      const proxies: BareProxy[] = []
      for (let start = 0; start < count; start += 20) {
        const some = Array.from({ length: 20 }, (_, index) => `many-${start + index}`)
        // The number of streams per account from one address is limited.
        const more = { namespace: "many", serviceAccount: `many-${start}`, labels: { app: "many" } }
        proxies.push(...(await Promise.all(some.map(name => mesh.bareProxy(name, more)))))
      }
      // Acknowledgements that arrive one by one, as from proxies under load.
      for (const [index, proxy] of proxies.entries()) {
        proxy.behaviour = () => new Promise(resolve => setTimeout(resolve, index * 15))
      }
      const type = policyTypes(names).AuthorizationPolicy
      const { resourceVersion } = await mesh.api.client.list(type, { namespace: "many" })
      const versions = new Set<string>()
      const over = new AbortController()
      const watching = (async () => {
        const options = { namespace: "many", signal: over.signal }
        for await (const { object } of mesh.api.client.watch(type, resourceVersion, options)) {
          versions.add(object.metadata.resourceVersion ?? "")
        }
      })().catch(() => undefined)
      const put = performance.now()
      await mesh.api.put(deny("many", "/many", undefined, "many"))
      const { message } = await mesh.api.becomes(AP, "many", "many", "Enforced", "True")
      // One version is the document itself; the others are written at most once per second, for as long as this machine
      // takes.
      await expect.poll(() => versions.size, WAIT).toBeGreaterThan(1)
      over.abort()
      await watching
      expect(message).toBe("enforced by 200 of 200 proxies at generation 1")
      expect(proxies.every(({ held }) => held.has(`policy/${AP}/many/many`))).toBe(true)
      expect(versions.size).toBeLessThanOrEqual(3 + (performance.now() - put) / 1_000)
    })
  })
}
