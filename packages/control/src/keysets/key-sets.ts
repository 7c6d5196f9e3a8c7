// SPDX-License-Identifier: Apache-2.0
// The keys of the issuers that RequestAuthentications name, as the rest of the control plane sees them.

import type { JwtRule } from "@merlon/policy/resources"

export interface KeySetState {
  readonly id: string
  /** The last good key set; undefined where there never was one. */
  readonly jwks: string | undefined
  readonly keys: number
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number | undefined
  readonly nextFetchAt: number | undefined
  /** Of the last attempt, where it failed. */
  readonly error: string | undefined
}

/** A rule, and the namespace whose share of all key sets it is counted to. */
export interface NeededRule {
  readonly rule: JwtRule
  readonly namespace: string
}

export interface KeySets {
  /** The rules whose keys are needed now; what no rule needs any more is forgotten. */
  need(rules: Iterable<NeededRule>): void
  get(id: string): KeySetState | undefined
  /** A proxy met a token that names a key we did not send. Fetches again, but not for everyone who asks. */
  reportUnknownKey(id: string): void
  /** `jwks` tells whether the keys changed, or only what is known of them. */
  onChange(listener: (id: string, change: { readonly jwks: boolean }) => void): () => void
}
