// SPDX-License-Identifier: Apache-2.0
import { afterEach, expect, it } from "vitest"
import { ConnectionPool } from "./connection-pool.js"
import type { TransportPlan } from "./transport-plan.js"

const ENDPOINT = { address: "127.0.0.1", port: 1, healthy: true, workload: "app/web-1", mtlsMode: "STRICT" } as const
const TRUST = { bundle: "", signer: "", revokedIdentities: [], revokedSerials: [] }
const material = (id: number) => ({ id, credentials: undefined, trust: TRUST })
const mutual = (...trustDomains: string[]): TransportPlan => ({
  kind: "mutual",
  sni: "web.app.svc.cluster.local",
  identities: trustDomains.map(domain => `spiffe://${domain}/ns/app/sa/web`),
})

const pool = new ConnectionPool({ alpn: ["http/1.1"], connectTimeoutMs: 1_000 })
afterEach(() => pool.close())

it.each([
  ["the trust domain of the server", mutual("new.example"), 1],
  ["a trust domain that no longer counts as ours", mutual("new.example", "cluster.local"), 1],
  ["credentials or trust", mutual("cluster.local"), 2],
])("a change of %s leads to other connections", (_, plan, id) => {
  const before = pool.agentFor(ENDPOINT, mutual("cluster.local"), material(1))
  expect(pool.agentFor(ENDPOINT, mutual("cluster.local"), material(1))).toBe(before)
  expect(pool.agentFor(ENDPOINT, plan, material(id))).not.toBe(before)
})
