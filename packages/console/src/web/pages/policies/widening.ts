// SPDX-License-Identifier: Apache-2.0
// Whether a change of outcome widens what is allowed.

/** An external authorizer (`custom`) denies some of what it decides, so it allows less than `allow` and more than a denial. */
export function isWider({ from, to }: { readonly from: string; readonly to: string }): boolean {
  return to === "allow" || (to === "custom" && from !== "allow" && from !== "custom")
}
