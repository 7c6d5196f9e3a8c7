// SPDX-License-Identifier: Apache-2.0
// One line of the health report.

export interface Checked {
  readonly what: "server" | "kinds" | "admission" | "policies" | "invariants" | "proxies" | "pods"
  /** `unknown`: it could not be asked, or nobody has decided it; `note`: a word to the line before. */
  readonly verdict: "well" | "wrong" | "unknown" | "note"
  readonly told: string
  /** What to do about it. */
  readonly next?: string
}
