// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { encodeHostRoutes, type HostRoutesSpec } from "./host-routes.js"
import { decodeOutboundPolicy, encodeOutboundPolicy, type OutboundPolicySpec } from "./outbound-policy.js"

const POLICY: OutboundPolicySpec = { mode: "REGISTRY_ONLY", mtls: ["10.96.0.7", "fd00::/64"] }
const trust = { bundle: "", signer: "", revokedIdentities: [], revokedSerials: [] }
const ROUTES: HostRoutesSpec = {
  table: { host: "web", port: 80, aliases: [], routes: [] },
  clusters: [],
  services: [],
  trust,
}

describe("an outbound policy", () => {
  it("decodes to what was encoded", () => {
    expect(decodeOutboundPolicy(encodeOutboundPolicy(POLICY))).toEqual(POLICY)
  })

  it.each<[string, Uint8Array]>([
    ["bytes of something else", Uint8Array.of(1, 2, 3)],
    ["the routes of a host", encodeHostRoutes(ROUTES)],
    ["an unknown mode", encodeOutboundPolicy({ ...POLICY, mode: "NONE" as "ALLOW_ANY" })],
    ["too many blocks", encodeOutboundPolicy({ ...POLICY, mtls: Array.from({ length: 65_537 }, () => "::1") })],
  ])("is not decoded from %s", (_, bytes) => {
    expect(() => decodeOutboundPolicy(bytes)).toThrow()
  })
})
