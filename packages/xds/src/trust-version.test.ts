// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest"
import type { TrustSpec } from "./proxy-resource.js"
import { trustVersion } from "./trust-version.js"

const TRUST: TrustSpec = { bundle: "A", signer: "aa", revokedIdentities: ["i", "j"], revokedSerials: ["1"] }

describe("the version of a trust", () => {
  it.each<[string, Partial<TrustSpec>]>([
    ["the bundle", { bundle: "B" }],
    ["the signer", { signer: "bb" }],
    ["a revoked identity", { revokedIdentities: ["i"] }],
    ["a revoked serial", { revokedSerials: ["1", "2"] }],
    ["values that move from one list to the other", { revokedIdentities: ["i"], revokedSerials: ["1", "j"] }],
  ])("changes with %s", (_, change) => {
    expect(trustVersion({ ...TRUST, ...change })).not.toBe(trustVersion(TRUST))
  })

  it("ignores the order of revocations", () => {
    expect(trustVersion({ ...TRUST, revokedIdentities: ["j", "i", "j"] })).toBe(trustVersion(TRUST))
  })

  it("is short enough for people to read", () => {
    expect(trustVersion(TRUST)).toMatch(/^[\w-]{22}$/)
  })
})
