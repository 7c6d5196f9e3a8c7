// SPDX-License-Identifier: Apache-2.0
// Replaces one root by another without rejecting a valid certificate. Pure: takes the state and the known facts, returns
// the next state.
//
//   steady      one root, which signs
//   distribute  the old root signs; both are trusted, so that peers know the new one before they see a leaf of it
//   sign        the new root signs; both are trusted, until no leaf of the old one is left
//   retire      the old root is removed from the bundle, which is being sent to the proxies

import { mergeBundles } from "../trust/bundle.js"
import { certificateFacts } from "../trust/facts.js"
import type { AuthorityKeys } from "./authority-keys.js"
import { rootFingerprint } from "./root-fingerprint.js"

export type RotationPhase = "steady" | "distribute" | "sign" | "retire"

interface Standing {
  /** The signing keys. */
  readonly current: AuthorityKeys
  /** When the phase began, in milliseconds since the epoch. */
  readonly since: number
  /** The last demand for a rotation that was met or is being met. */
  readonly demand: string
}

export type RotationState =
  | (Standing & { readonly phase: "steady" | "retire" })
  | (Standing & { readonly phase: "distribute"; readonly next: AuthorityKeys })
  | (Standing & { readonly phase: "sign"; readonly previous: AuthorityKeys })

export interface RotationFacts {
  readonly now: number
  /**
   * An operator's request: any text that differs from the last one that was carried out. Undefined without a request.
   */
  readonly demand: string | undefined
  /** Whether every connected proxy has acknowledged a bundle that contains these roots. */
  allTrust(fingerprints: readonly string[]): boolean
  /** Whether every connected proxy has acknowledged a bundle with exactly these roots. */
  allTrustOnly(fingerprints: readonly string[]): boolean
  /** Whether every connected proxy's certificate chains to this root. */
  allSignedBy(fingerprint: string): boolean
  /** When the last leaf of the old root expires: until then a proxy that was offline may reconnect with it. */
  readonly lastOldExpiry: number
  /** Whether an operator wants the old root removed even if proxies still depend on it. */
  readonly retireNow: boolean
}

/** A root with less than this share of its lifetime left is replaced. */
const RENEWAL_SHARE = 0.2

/** Returns the same state if there is nothing to do, and never advances by more than one phase. */
export function advance(state: RotationState, facts: RotationFacts, makeRoot: () => AuthorityKeys): RotationState {
  const { current, demand } = state
  const next = { current, demand, since: facts.now }
  switch (state.phase) {
    case "steady":
      return begins(state, facts)
        ? { ...next, phase: "distribute", next: makeRoot(), demand: facts.demand ?? demand }
        : state
    case "distribute": {
      const roots = [current, state.next].map(rootFingerprint)
      // INVARIANT: no workload presents a certificate of the new root before every connected proxy reports that it
      // trusts it.
      if (!facts.allTrust(roots)) return state
      return { ...next, phase: "sign", current: state.next, previous: current }
    }
    case "sign": {
      const gone = facts.allSignedBy(rootFingerprint(current)) && facts.now > facts.lastOldExpiry
      return gone || facts.retireNow ? { ...next, phase: "retire" } : state
    }
    case "retire":
      return facts.allTrustOnly([rootFingerprint(current)]) ? { ...next, phase: "steady" } : state
  }
}

/** The trust bundle for proxies, as PEM. The signing root comes first. */
export function bundleOf(state: RotationState): string {
  if (state.phase === "distribute") return mergeBundles(state.current.root, state.next.root)
  return state.phase === "sign" ? mergeBundles(state.current.root, state.previous.root) : state.current.root
}

/**
 * The keys that sign for the control plane's own listeners. A proxy that was offline knows only the root from before,
 * and must be able to receive the new one. So the old root signs for our listeners as long as it is trusted at all.
 */
export function servingKeys(state: RotationState): AuthorityKeys {
  return state.phase === "sign" ? state.previous : state.current
}

function begins({ current, demand }: RotationState, facts: RotationFacts): boolean {
  if (facts.demand !== undefined && facts.demand !== demand) return true
  const { notBefore, notAfter } = certificateFacts(current.root)
  return notAfter - facts.now < (notAfter - notBefore) * RENEWAL_SHARE
}
