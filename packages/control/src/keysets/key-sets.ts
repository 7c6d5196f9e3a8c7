// SPDX-License-Identifier: Apache-2.0
// The keys of the issuers that RequestAuthentications name: the interface for the rest of the control plane.

import type { JwtRule } from "@merlon/policy/resources"

export interface KeySetState {
  readonly id: string
  /** The last good key set; undefined if there never was one. */
  readonly jwks: string | undefined
  readonly keys: number
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number | undefined
  readonly nextFetchAt: number | undefined
  /** Error of the last attempt, if it failed. */
  readonly error: string | undefined
}

/** A rule, and the namespace whose quota its key set counts against. */
export interface NeededRule {
  readonly rule: JwtRule
  readonly namespace: string
}

export interface KeySets {
  /** Sets the rules whose keys are needed; keys that no rule needs any more are forgotten. */
  need(rules: Iterable<NeededRule>): void
  get(id: string): KeySetState | undefined
  /** Call it when a proxy received a token with a key id that we did not send. Fetches again, at a limited rate. */
  reportUnknownKey(id: string): void
  /** `jwks` tells whether the keys changed, or only other facts about them. */
  onChange(listener: (id: string, change: { readonly jwks: boolean }) => void): () => void
}
