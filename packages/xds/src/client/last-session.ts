// SPDX-License-Identifier: Apache-2.0
// Keeps the last TLS session with the control plane for resumption: when a control plane comes back, all its proxies
// connect at once. INVARIANT: a resumed session presents no certificate, so it is used only with the trust bundle and
// credentials it was created with, and not after the server's certificate has expired. The parsed trust bundle and
// credentials are cached too, so that OpenSSL does not parse them for each attempt.

import type { SecureContext } from "node:tls"

/** The terms under which a session was created. */
export interface SessionTerms {
  readonly address: string
  readonly serverName: string
  readonly trustBundle: string
  /** PEM; empty if the client presents no certificate. */
  readonly certificateChain: string
}

export interface SavedSession {
  readonly ticket: Buffer
  /** When the control plane's certificate expires, in milliseconds since the epoch. */
  readonly endsAt: number
}

export class LastSession {
  #kept: { readonly terms: SessionTerms; readonly session: SavedSession } | undefined
  #read: { readonly terms: SessionTerms; readonly context: SecureContext } | undefined

  /** The context that was made under these terms before, or a new one. */
  context(terms: SessionTerms, make: () => SecureContext): SecureContext {
    const read = this.#read
    if (read !== undefined && isSame(read.terms, terms)) return read.context
    const context = make()
    this.#read = { terms, context }
    return context
  }

  keep(terms: SessionTerms, session: SavedSession): void {
    this.#kept = { terms, session }
  }

  get(terms: SessionTerms, now: number): SavedSession | undefined {
    const kept = this.#kept
    if (kept === undefined) return undefined
    if (isSame(kept.terms, terms) && now < kept.session.endsAt) return kept.session
    this.#kept = undefined
    return undefined
  }

  forget(): void {
    this.#kept = undefined
  }
}

function isSame(one: SessionTerms, other: SessionTerms): boolean {
  if (one.address !== other.address || one.serverName !== other.serverName) return false
  return one.trustBundle === other.trustBundle && one.certificateChain === other.certificateChain
}
