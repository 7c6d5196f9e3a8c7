// SPDX-License-Identifier: Apache-2.0
// Two replicas on one cluster: proxies on both, one who leads, and what happens when that one is killed.

import { afterAll, beforeAll, expect, it } from "vitest"
import { VALIDATING_WEBHOOKS } from "../../packages/control/src/kubernetes/resource-type.js"
import { BareProxy, never } from "../e2e/control/support/bare-proxy.js"
import type { ControlProcess } from "../e2e/control/support/control-process.js"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { deny, Mesh, policy } from "../e2e/control/support/mesh.js"

const AP = "AuthorizationPolicy"
const SLOW = { timeout: 90_000, interval: 200 }

let mesh: Mesh
let second: ControlProcess
let workload: DeclaredWorkload
let here: BareProxy
let there: BareProxy

beforeAll(async () => {
  mesh = await Mesh.start({ separateCluster: true, args: ["--replica", "first"] })
  second = await mesh.replica(["--replica", "second"])
  here = await mesh.bareProxy("here")
  workload = await mesh.declare("there", { meshPort: second.meshPort })
  there = await new BareProxy(workload).ready()
})
afterAll(async () => {
  here.close()
  there.close()
  await mesh.close()
})

it("one of two replicas leads, and status counts the proxies of both", async () => {
  expect(await mesh.control.metric("merlon_control_leader")).toBe(1)
  expect(await second.metric("merlon_control_leader")).toBe(0)
  await mesh.api.put(deny("both", "/both"))
  const { message } = await mesh.api.becomes(AP, "both", "foo", "Enforced", "True")
  expect(message).toBe("enforced by 2 of 2 proxies at generation 1")
  expect(await mesh.control.metric("merlon_control_connected_proxies")).toBe(1)
  expect(await second.metric("merlon_control_connected_proxies")).toBe(1)
})

it("a proxy of the other replica that does not answer is named by the leader", async () => {
  there.behaviour = never
  await mesh.api.put(deny("both", "/changed"))
  await expect
    .poll(async () => (await mesh.api.condition(AP, "both", "foo", "Enforced"))?.message, SLOW)
    .toBe("enforced by 1 of 2 proxies at generation 2; waiting for foo/there")
  there.close()
  there = new BareProxy(workload)
  await mesh.api.becomes(AP, "both", "foo", "Enforced", "True")
})

it("when the leader is killed, the other one takes over: it writes status and answers for admission", async () => {
  await mesh.control.kill()
  await expect.poll(() => second.metric("merlon_control_leader"), SLOW).toBe(1)
  await expect
    .poll(async () => JSON.stringify(await mesh.api.client.list(VALIDATING_WEBHOOKS)), SLOW)
    .toContain(`:${second.webhookPort}/`)
  await expect
    .poll(() => mesh.api.put(deny("after", "/after", "there")).then(() => "stored", String), SLOW)
    .toBe("stored")
  const { message } = await mesh.api.becomes(AP, "after", "foo", "Enforced", "True")
  expect(message).toBe("enforced by 1 of 1 proxy at generation 1")
  const rule = { issuer: "a", jwksUri: "/keys" }
  const refused = mesh.api.put(policy("RequestAuthentication", "relative", { jwtRules: [rule] }))
  await expect(refused).rejects.toThrow(/jwksUri/)
  // What went with the first replica is missed, by name.
  await expect
    .poll(async () => (await mesh.api.condition(AP, "both", "foo", "Enforced"))?.message, SLOW)
    .toMatch(/^enforced by 1 of 2 proxies.*not connected: foo\/here/)
})

it("the one that comes back follows", async () => {
  await mesh.control.run()
  await mesh.api.becomes(AP, "both", "foo", "Enforced", "True")
  expect(await mesh.control.metric("merlon_control_leader")).toBe(0)
  expect(await second.metric("merlon_control_leader")).toBe(1)
})
