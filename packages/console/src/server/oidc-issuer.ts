// SPDX-License-Identifier: Apache-2.0
// An OpenID Connect issuer as a client sees it: where users sign in, and the exchange of their code. The ID token is
// the cluster's bearer token: the API server checks its signature with each request, and this file checks that it was
// issued for this sign-in (OpenID Connect Core 1.0, 3.1.3.7).

import { askIssuer, jsonIn, secure } from "./ask-issuer.js"

export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  /** Absent for public clients; the code is bound to this sign-in by PKCE either way. */
  readonly clientSecret?: string
  /** PEM of a CA for its server, in addition to the public ones. */
  readonly ca?: string
  /** Scopes in addition to `openid`. */
  readonly scopes: readonly string[]
}

export interface Exchange {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
  readonly nonce: string
}

export interface IdToken {
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly expires: number
}

interface Endpoints {
  readonly authorization: URL
  readonly token: URL
}

export class OidcIssuer {
  readonly #options: OidcOptions
  readonly #now: () => number
  #endpoints: Promise<Endpoints> | undefined

  constructor(options: OidcOptions, now: () => number = Date.now) {
    this.#options = options
    this.#now = now
  }

  /** The address at the issuer to which the browser is redirected. */
  async authorization(asked: {
    state: string
    nonce: string
    challenge: string
    redirectUri: string
  }): Promise<string> {
    const { clientId, scopes } = this.#options
    const url = new URL((await this.#discovered()).authorization)
    const query = {
      ...{ response_type: "code", client_id: clientId, scope: ["openid", ...scopes].join(" ") },
      ...{ redirect_uri: asked.redirectUri, state: asked.state, nonce: asked.nonce },
      ...{ code_challenge: asked.challenge, code_challenge_method: "S256" },
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url.href
  }

  /** Throws if the issuer returns no token for this sign-in. */
  async exchange({ code, verifier, redirectUri, nonce }: Exchange): Promise<IdToken> {
    const { clientId, clientSecret, ca } = this.#options
    const form = new URLSearchParams({
      ...{ grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri },
      client_id: clientId,
      ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
    })
    const { id_token: token } = await askIssuer({ url: (await this.#discovered()).token.href, form, ca })
    if (typeof token !== "string")
      throw new Error("the issuer gave no ID token; is `openid` among the scopes it grants?")
    return { token, expires: this.#checked(claimsOf(token), nonce) }
  }

  #checked({ iss, aud, azp, exp, nonce: given }: Readonly<Record<string, unknown>>, nonce: string): number {
    const { issuer, clientId } = this.#options
    const audiences = [aud].flat()
    if (iss !== issuer) throw new Error("the ID token is of another issuer")
    if (!audiences.includes(clientId)) throw new Error("the ID token was made for another client")
    if (azp !== undefined && azp !== clientId) throw new Error("the ID token was given to another client")
    if (given !== nonce) throw new Error("the ID token is of another sign-in")
    if (typeof exp !== "number" || exp * 1_000 <= this.#now()) throw new Error("the ID token has ended")
    return exp * 1_000
  }

  /**
   * Requested once for all waiting sign-ins, because unauthenticated clients control their number. Requested again
   * after a failure.
   */
  #discovered(): Promise<Endpoints> {
    this.#endpoints ??= this.#discover().catch((failure: unknown) => {
      this.#endpoints = undefined
      throw failure
    })
    return this.#endpoints
  }

  async #discover(): Promise<Endpoints> {
    const { issuer, ca } = this.#options
    const found = await askIssuer({ url: `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, ca })
    // OpenID Connect Discovery 1.0, 4.3: the document of another issuer would send users and their codes elsewhere.
    if (found.issuer !== issuer) throw new Error(`\`${issuer}\` calls itself ${JSON.stringify(found.issuer)}`)
    return { authorization: secure(found.authorization_endpoint), token: secure(found.token_endpoint) }
  }
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  return jsonIn(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"))
}
