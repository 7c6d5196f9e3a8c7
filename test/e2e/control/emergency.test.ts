// SPDX-License-Identifier: Apache-2.0
// An operator's DENY while tenants write the most expensive policies, in enough namespaces to keep the prover busy. The
// API server gives our webhook ten seconds; a tenant who blocked the control plane for that long would make the DENY
// fail.

import { afterAll, beforeAll, expect, it } from "vitest"
import { slowPolicies } from "../../../packages/control/src/proofs/testing/documents.js"
import { names } from "./support/cluster-api.js"
import { Mesh, policy } from "./support/mesh.js"

const TENANTS = ["evil-1", "evil-2", "evil-3", "evil-4", "evil-5", "evil-6", "evil-7", "evil-8"]
let mesh: Mesh

const always = [{ name: "reachable", to: [{ operation: { paths: ["/*"] } }] }]
const worst = (namespace: string) => slowPolicies(namespace, 6)

beforeAll(async () => {
  // The production default, so that only proofs can cause a delay here.
  mesh = await Mesh.start({ args: ["--proof-budget", "300"] })
  for (const name of [...TENANTS, "ops"]) {
    await mesh.api.put({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
    await mesh.declare(`web-${name}`, { namespace: name })
  }
})
afterAll(() => mesh.close())

it("is stored meanwhile, and so is one that only denies more", async () => {
  let over = false
  let written = 0
  // Each tenant writes one policy after the other, all tenants at once, so that a proof is always pending. Rejected
  // policies cost as much.
  const tenant = async (namespace: string): Promise<void> => {
    await mesh.api.put(policy("PolicyInvariant", "stays", { always }, namespace))
    for (let round = 0; !over; round++) {
      for (const document of worst(namespace)) {
        const rules = document.kind === "AuthorizationPolicy" ? (document.spec.rules ?? []).slice(round % 7) : []
        const spec = { ...document.spec, rules }
        await mesh.api.put(policy(document.kind, document.metadata.name, spec, namespace)).catch(() => undefined)
        written++
        if (over) return
      }
    }
  }
  const tenants = TENANTS.map(tenant)
  await expect.poll(() => written).toBeGreaterThan(TENANTS.length * 2)

  const denials = [
    policy("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] }, "ops"),
    policy("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] }, names.rootNamespace),
  ]
  for (const denial of denials) {
    const before = written
    // Throws if the API server gave up on the webhook.
    await mesh.api.put(denial)
    await expect.poll(() => written).toBeGreaterThan(before)
  }
  over = true
  await Promise.all(tenants)
  // The proof thread did run proofs meanwhile.
  expect(await mesh.control.metric(`merlon_control_proofs_total{outcome="answered"}`)).toBeGreaterThan(0)
})
