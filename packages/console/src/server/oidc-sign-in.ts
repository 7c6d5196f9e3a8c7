// SPDX-License-Identifier: Apache-2.0
// Signing in at an issuer, in three steps that one browser takes: away to it, back with a code, and the page that asks for
// its session. What binds them is a cookie: whoever else has the address of any step has nothing (RFC 9700, 4.7). Neither
// code nor token is ever in the page.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { IdToken, OidcIssuer } from "./oidc-issuer.js"
import { type SignedIn, SignInError } from "./sign-in.js"

interface Pending {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
  readonly ends: number
  /** Once it is back. */
  result: Promise<SignedIn> | undefined
}

export interface Start {
  /** For the cookie. */
  readonly id: string
  readonly location: string
}

export const OIDC_LIFE_MS = 10 * 60_000
const MOST = 1_000
const AGAIN = "sign in again"

export class OidcSignIn {
  readonly #issuer: OidcIssuer
  readonly #enter: (token: IdToken) => Promise<SignedIn>
  readonly #now: () => number
  readonly #pending = new Map<string, Pending>()

  constructor(issuer: OidcIssuer, enter: (token: IdToken) => Promise<SignedIn>, now: () => number = Date.now) {
    this.#issuer = issuer
    this.#enter = enter
    this.#now = now
  }

  /** Where to send the browser, and how it is known again; straight back where the issuer cannot be asked. */
  async start(redirectUri: string, home: string): Promise<Start> {
    const [id, state, nonce, verifier] = [secret(), secret(), secret(), secret()]
    const challenge = createHash("sha256").update(verifier).digest("base64url")
    const pending: Pending = {
      ...{ state, nonce, verifier, redirectUri },
      ...{ ends: this.#now() + OIDC_LIFE_MS, result: undefined },
    }
    const location = await this.#issuer.authorization({ state, nonce, challenge, redirectUri }).catch(error => {
      this.#settle(pending, Promise.reject(new SignInError(502, messageOf(error))))
      return home
    })
    for (const [old, { ends }] of this.#pending) {
      if (ends > this.#now() && this.#pending.size < MOST) break
      // The oldest makes room.
      this.#drop(old)
    }
    this.#pending.set(id, pending)
    return { id, location }
  }

  /** What it brings is kept for the page that asks with the same cookie; a state that is not its own ends it. */
  back(id: string, query: URLSearchParams): void {
    const pending = this.#find(id)
    if (pending === undefined || pending.result !== undefined) return
    this.#settle(pending, this.#finish(pending, query))
  }

  /** Once. */
  async take(id: string): Promise<SignedIn> {
    const result = this.#find(id)?.result
    this.#pending.delete(id)
    if (result === undefined)
      throw new SignInError(401, `this way in has ended or was begun in another browser; ${AGAIN}`)
    return result
  }

  async close(): Promise<void> {
    for (const id of [...this.#pending.keys()]) this.#drop(id)
  }

  async #finish({ state, nonce, verifier, redirectUri }: Pending, query: URLSearchParams): Promise<SignedIn> {
    if (!isSame(query.get("state") ?? "", state)) {
      throw new SignInError(401, `what came back belongs to another way in; ${AGAIN}`)
    }
    const [error, code] = [query.get("error"), query.get("code")]
    if (error !== null) throw new SignInError(401, `the issuer refused (${error.slice(0, 100)}); ${AGAIN}`)
    if (code === null) throw new SignInError(401, `the issuer sent no code; ${AGAIN}`)
    const token = await this.#issuer.exchange({ code, verifier, redirectUri, nonce }).catch((failure: unknown) => {
      throw new SignInError(401, messageOf(failure))
    })
    return this.#enter(token)
  }

  #settle(pending: Pending, result: Promise<SignedIn>): void {
    pending.result = result
    // Whoever asks is told; that nobody asks is no fault.
    result.catch(() => undefined)
  }

  #find(id: string): Pending | undefined {
    const pending = this.#pending.get(id)
    return pending !== undefined && pending.ends > this.#now() ? pending : undefined
  }

  #drop(id: string): void {
    const dropped = this.#pending.get(id)
    this.#pending.delete(id)
    dropped?.result?.then(({ api }) => api.close()).catch(() => undefined)
  }
}

function secret(): string {
  return randomBytes(32).toString("base64url")
}

function isSame(given: string, own: string): boolean {
  const [a, b] = [given, own].map(text => createHash("sha256").update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "the issuer cannot be asked"
}
