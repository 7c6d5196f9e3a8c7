// SPDX-License-Identifier: Apache-2.0
// Claims are compared with policy values as text. A boolean or number has the text that JSON gives it, so that a DENY on
// `banned: true` works. Lists are compared element by element; objects and null never match. Istio compares strings only.

import type { Claim } from "./attributes.js"

/** Undefined for values that no policy can name. */
function claimText(claim: Claim | undefined): string | undefined {
  switch (typeof claim) {
    case "string":
      return claim
    // Not `JSON.stringify`, which writes a number out of range as `null`.
    case "number":
    case "boolean":
      return String(claim)
    default:
      return undefined
  }
}

/** The texts of a claim, of which one must match; undefined if it has none. */
export function claimTexts(claim: Claim | undefined): string | readonly string[] | undefined {
  if (!Array.isArray(claim)) return claimText(claim)
  // Most lists contain only strings, and they are read with every request.
  if (claim.every(item => typeof item === "string")) return claim
  return claim.flatMap(item => claimText(item) ?? [])
}

/** Only the strings among them. */
export function claimStrings(claim: Claim | undefined): string | readonly string[] | undefined {
  if (Array.isArray(claim)) return claim.filter(item => typeof item === "string")
  return typeof claim === "string" ? claim : undefined
}
