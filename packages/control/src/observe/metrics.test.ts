// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ControlMetrics, type IssuerKeys, type MetricSources } from "./metrics.js"

function rig(mesh = "merlon", more: Partial<MetricSources> = {}) {
  const issuers: IssuerKeys[] = []
  const metrics = new ControlMetrics(mesh, {
    connectedProxies: () => 12,
    overdueProxies: () => 1,
    isLeader: () => true,
    issuers: () => issuers,
    unreadablePolicies: () => new Map([["strictest", 2]]),
    reflectors: () => [{ kind: "Pod", synced: true, silentMs: 1_500 }],
    authority: () => undefined,
    now: () => 100_000,
    ...more,
  })
  const lines = async () => (await metrics.registry.metrics()).split("\n").filter(line => !line.startsWith("#"))
  return { metrics, issuers, lines }
}

it("counts events under the mesh's own prefix", async () => {
  const { metrics, lines } = rig("my-mesh")
  metrics.pushed("proxy", 1_000)
  metrics.pushed("proxy", 24)
  metrics.acknowledged("proxy", 0.004)
  metrics.rejected("route")
  metrics.propagated(0.2)
  metrics.reviewed("AuthorizationPolicy", "rejected")
  metrics.statusWritten("MeshService")
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'my_mesh_control_pushes_total{type="proxy"} 2',
      'my_mesh_control_push_bytes_total{type="proxy"} 1024',
      'my_mesh_control_push_to_ack_seconds_bucket{le="0.005",type="proxy"} 1',
      "my_mesh_control_write_to_last_ack_seconds_sum 0.2",
      'my_mesh_control_rejected_updates_total{type="route"} 1',
      'my_mesh_control_admission_reviews_total{kind="AuthorizationPolicy",outcome="rejected"} 1',
      'my_mesh_control_status_writes_total{kind="MeshService"} 1',
      "my_mesh_control_connected_proxies 12",
      "my_mesh_control_overdue_acknowledgements 1",
      "my_mesh_control_leader 1",
      'my_mesh_control_policies_unreadable{instead="strictest"} 2',
      'my_mesh_control_reflector_synced{kind="Pod"} 1',
      'my_mesh_control_reflector_silent_seconds{kind="Pod"} 1.5',
    ]),
  )
})

it("reports the age of keys as long as they are needed", async () => {
  const { issuers, lines } = rig()
  issuers.push({ issuer: "https://idp", fetchedAt: 40_000, failing: true })
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'merlon_control_key_set_age_seconds{issuer="https://idp"} 60',
      'merlon_control_key_set_failing{issuer="https://idp"} 1',
    ]),
  )
  issuers.length = 0
  expect((await lines()).filter(line => line.includes("https://idp"))).toEqual([])
})

it("lists a limited number of issuers, failing ones first", async () => {
  const { metrics, issuers, lines } = rig()
  for (let i = 0; i < 500; i++) {
    metrics.keyFetchFailed(`https://idp-${i}`)
    issuers.push({ issuer: `https://idp-${i}`, fetchedAt: 0, failing: i === 499 })
  }
  const all = await lines()
  expect(all.filter(line => line.startsWith("merlon_control_key_set_fetch_failures_total"))).toHaveLength(101)
  expect(all.filter(line => line.startsWith("merlon_control_key_set_age_seconds"))).toHaveLength(100)
  expect(all).toContain('merlon_control_key_set_fetch_failures_total{issuer="(others)"} 400')
  expect(all).toContain('merlon_control_key_set_failing{issuer="https://idp-499"} 1')
})

it("reports when credentials expire, and the outcomes of requests for certificates", async () => {
  const requests = { signed: 3, "bad-request": 1, "bad-ttl": 0, revoked: 0, foreign: 0, unavailable: 0 }
  const facts = {
    rootNotAfter: 5_000_000,
    signerNotAfter: 4_000_000,
    servingNotAfter: new Map([["mesh", 3_000_000]]),
    requests,
    phase: "stable",
    signer: "ab",
    rejectedChanges: 2,
    revokedIdentities: 0,
    revokedSerials: 0,
    revocationErrors: 0,
  } as unknown as ReturnType<MetricSources["authority"]> // the name of the phase does not matter here
  const { lines } = rig("merlon", { authority: () => facts })
  await lines()
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'merlon_control_certificate_expiry_seconds{certificate="root",listener=""} 5000',
      'merlon_control_certificate_expiry_seconds{certificate="signer",listener=""} 4000',
      'merlon_control_certificate_expiry_seconds{certificate="serving",listener="mesh"} 3000',
      'merlon_control_certificate_requests_total{outcome="signed"} 3',
      'merlon_control_rotation_phase{phase="stable"} 1',
      "merlon_control_authority_rejected_changes_total 2",
      "merlon_control_authority_refused_changes_total 2",
    ]),
  )
})
