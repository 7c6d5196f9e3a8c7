// SPDX-License-Identifier: Apache-2.0
// Whether a change of the outcome widens access.

/** An external authorizer (`custom`) may deny requests, so it allows less than `allow` and more than a denial. */
export function isWider({ from, to }: { readonly from: string; readonly to: string }): boolean {
  return to === "allow" || (to === "custom" && from !== "allow" && from !== "custom")
}
