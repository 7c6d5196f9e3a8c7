// SPDX-License-Identifier: Apache-2.0
// One line of the health report.

export interface Checked {
  readonly what: "server" | "kinds" | "admission" | "policies" | "invariants" | "proxies" | "pods"
  /** `unknown`: it could not be checked or is undecided; `note`: a remark on the line before. */
  readonly verdict: "well" | "wrong" | "unknown" | "note"
  readonly detail: string
  /** What the user can do about it. */
  readonly next?: string
}
