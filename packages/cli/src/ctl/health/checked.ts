// SPDX-License-Identifier: Apache-2.0
// One line of what is known of a mesh's health.

export interface Checked {
  readonly what: "server" | "kinds" | "admission" | "policies" | "statements" | "proxies" | "pods"
  /** `note`: nothing is wrong that is known, and not everything is known. */
  readonly verdict: "well" | "wrong" | "note"
  readonly told: string
  /** What to do about it. */
  readonly next?: string
}
