// SPDX-License-Identifier: Apache-2.0
// The parts of a request that its route depends on.

export interface Call {
  readonly method: string
  /** As the caller names it, without the port. */
  readonly host: string
  /** Path and query, as they are sent. */
  readonly target: string
  /** By lower-case name; several lines of one name joined by `, `. */
  readonly headers: ReadonlyMap<string, string>
}
