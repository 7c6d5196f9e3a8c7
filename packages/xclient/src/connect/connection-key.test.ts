// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { connectionKey } from "./connection-key.js"
import type { TransportPlan } from "./transport-plan.js"

const ENDPOINT = { address: "127.0.0.1", port: 1, healthy: true, workload: "app/web-1", mtlsMode: "STRICT" } as const
const mutual = (...trustDomains: string[]): TransportPlan => ({
  kind: "mutual",
  sni: "web.app.svc.cluster.local",
  identities: trustDomains.map(domain => `spiffe://${domain}/ns/app/sa/web`),
})

it.each<[string, TransportPlan]>([
  ["the trust domain of the server", mutual("new.example")],
  ["a trust domain that is no longer an alias", mutual("new.example", "cluster.local")],
  ["the transport", { kind: "plaintext" }],
])("a change of %s opens new connections", (_, plan) => {
  const before = connectionKey(ENDPOINT, mutual("cluster.local"))
  expect(connectionKey({ ...ENDPOINT }, mutual("cluster.local"))).toBe(before)
  expect(connectionKey(ENDPOINT, plan)).not.toBe(before)
})
