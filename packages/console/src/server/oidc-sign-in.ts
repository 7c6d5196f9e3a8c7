// SPDX-License-Identifier: Apache-2.0
// Signing in at an issuer, in three steps of one browser: the redirect to the issuer, the return with a code, and the
// page that asks for its session. A cookie binds them: another client with the address of any step can do nothing with
// it (RFC 9700, 4.7). A browser sends the cookie to every port of the host (RFC 6265 section 8.5), so it works only
// together with a secret that the page keeps for its own origin. Neither code nor token is ever in the page.
// INVARIANT: nothing is stored here for users who have not authenticated. All of it is in the sealed cookie: strangers
// can begin as often as they like, and displace no other user.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { IdToken, OidcIssuer } from "./oidc-issuer.js"
import { SealedCookie } from "./sealed-cookie.js"
import { type SignedIn, SignInError } from "./sign-in.js"

interface PendingSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
  /** SHA-256 of the page's secret. */
  readonly page: string
  readonly ends: number
  /** Set after the return from the issuer. */
  readonly outcome?: { readonly code: string } | Rejected
}

interface Rejected {
  readonly status: SignInError["status"]
  readonly why: string
}

export interface Start {
  readonly cookie: string
  readonly location: string
}

export const OIDC_LIFE_MS = 10 * 60_000
/** Browsers limit a cookie with its name to 4,096 bytes, and silently drop a longer one. */
const MAX_COOKIE = 4_000
const AGAIN = "sign in again"

export class OidcSignIn {
  readonly #issuer: OidcIssuer
  readonly #enter: (token: IdToken) => Promise<SignedIn>
  readonly #now: () => number
  readonly #sealed = new SealedCookie()
  /** By state, until they expire: those that a user with permissions has used, and those in use. */
  readonly #taken = new Map<string, number>()

  constructor(issuer: OidcIssuer, enter: (token: IdToken) => Promise<SignedIn>, now: () => number = Date.now) {
    this.#issuer = issuer
    this.#enter = enter
    this.#now = now
  }

  /**
   * The redirect to the issuer and the cookie that identifies the sign-in. Redirects straight back if the issuer is
   * unavailable.
   */
  async start(redirectUri: string, home: string, page: string): Promise<Start> {
    const [state, nonce, verifier] = [secret(), secret(), secret()]
    const pending: PendingSignIn = {
      state,
      nonce,
      verifier,
      redirectUri,
      page: digest(page),
      ends: this.#now() + OIDC_LIFE_MS,
    }
    const challenge = createHash("sha256").update(verifier).digest("base64url")
    try {
      const location = await this.#issuer.authorization({ state, nonce, challenge, redirectUri })
      return { cookie: this.#sealed.seal(pending), location }
    } catch (error) {
      return {
        cookie: this.#sealed.seal({ ...pending, outcome: { status: 502, why: messageOf(error) } }),
        location: home,
      }
    }
  }

  /**
   * The cookie with the outcome, for the page that asks with it. A state other than its own ends the sign-in. Undefined
   * if no sign-in was begun or it has already returned.
   */
  back(cookie: string, query: URLSearchParams): string | undefined {
    const pending = this.#open(cookie)
    if (pending === undefined || pending.outcome !== undefined) return undefined
    const back = this.#sealed.seal({ ...pending, outcome: outcomeOf(pending, query) })
    if (back.length <= MAX_COOKIE) return back
    return this.#sealed.seal({ ...pending, outcome: rejected("the issuer's code is too long to be kept by a browser") })
  }

  /** Works once. */
  async take(cookie: string, page: string): Promise<SignedIn> {
    const pending = this.#open(cookie)
    // Fail closed: a cookie without its page's secret may come from another port of this host.
    if (pending?.outcome === undefined || !isSame(digest(page), pending.page) || this.#taken.has(pending.state))
      throw new SignInError(401, `this way in has ended or was begun in another browser; ${AGAIN}`)
    const { outcome, state, ends } = pending
    if (!("code" in outcome)) throw new SignInError(outcome.status, outcome.why)
    for (const [old, end] of this.#taken) if (end <= this.#now()) this.#taken.delete(old)
    this.#taken.set(state, ends)
    try {
      return await this.#enter(await this.#exchanged(outcome.code, pending))
    } catch (error) {
      this.#taken.delete(state)
      throw error
    }
  }

  #exchanged(code: string, { verifier, redirectUri, nonce }: PendingSignIn): Promise<IdToken> {
    return this.#issuer.exchange({ code, verifier, redirectUri, nonce }).catch((failure: unknown) => {
      throw new SignInError(401, messageOf(failure))
    })
  }

  #open(cookie: string): PendingSignIn | undefined {
    const pending = this.#sealed.open(cookie) as PendingSignIn | undefined // only this file seals
    return pending !== undefined && pending.ends > this.#now() ? pending : undefined
  }
}

function outcomeOf({ state }: PendingSignIn, query: URLSearchParams): { readonly code: string } | Rejected {
  if (!isSame(query.get("state") ?? "", state)) return rejected("the response belongs to another sign-in")
  const [error, code] = [query.get("error"), query.get("code")]
  if (error !== null) return rejected(`the issuer rejected the sign-in (${error.slice(0, 100)})`)
  return code === null ? rejected("the issuer sent no code") : { code }
}

function rejected(why: string): Rejected {
  return { status: 401, why: `${why}; ${AGAIN}` }
}

function secret(): string {
  return randomBytes(32).toString("base64url")
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url")
}

function isSame(given: string, own: string): boolean {
  const [a, b] = [given, own].map(text => createHash("sha256").update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "the issuer cannot be asked"
}
