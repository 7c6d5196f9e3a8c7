// SPDX-License-Identifier: Apache-2.0
// No certificate is written where the checker would reject it, or where it would say more than was proved.

import { generateKeyPairSync } from "node:crypto"
import { expect, it } from "vitest"
import { meshConfig } from "../../packages/policy/src/mesh/config.js"
import { diffSets } from "../../packages/policy/src/proof/questions/diff.js"
import { anyIssuer, workload } from "../../packages/policy/src/proof/testing/sets.js"
import { authentication, authorization } from "../../packages/policy/src/proof/testing/token-sets.js"
import { certificateOf, type Sides } from "./certified.js"

const compared = ([before = [], after = []]: Sides, mesh = meshConfig()): string | undefined =>
  certificateOf([before, after], mesh, comparisons => {
    diffSets(before, after, [workload], mesh, { now: 1_000, comparisons })
  })

it("writes none about policies of Istio, even about the same ones", () => {
  const same = [[anyIssuer], [anyIssuer]]
  expect([compared(same), compared(same, meshConfig({ dialect: "istio" }))]).toEqual([expect.any(String), undefined])
})

it("writes none about a key set with a key that cannot be used", () => {
  const { publicKey } = generateKeyPairSync("ed25519")
  const certificate = (...others: readonly object[]) => {
    const keys = [publicKey.export({ format: "jwk" }), ...others]
    const set = [authentication([{ issuer: "i", jwks: JSON.stringify({ keys }) }])]
    return compared([set, [...set, authorization("DENY", [{}])]])
  }
  expect([certificate(), certificate({ kty: "X" })]).toEqual([expect.any(String), undefined])
})
