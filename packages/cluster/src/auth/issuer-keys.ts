// SPDX-License-Identifier: Apache-2.0
// The public keys of an OpenID Connect issuer, found through its discovery document and cached. They are fetched again,
// at a limited rate, when a token was signed with an unknown key. So a rotation is noticed at once, and invalid tokens
// cannot cause endless fetches.

import { rootCertificates } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { createLocalJWKSet } from "jose"
import { Agent } from "undici"
import { messageOf } from "../message-of.js"
import { asString, isObject, type Json, type JsonObject } from "../value.js"

export type KeySet = ReturnType<typeof createLocalJWKSet>

/** The issuer does not respond, or its response is unusable. The sender of the token did not cause this. */
export class IssuerAway extends Error {
  override readonly name = "IssuerAway"
}

export interface IssuerKeysOptions {
  readonly issuerUrl: string
  /** PEM of the authorities that may sign the issuer's server certificate, instead of the public ones. */
  readonly ca?: string
  readonly clock: () => number
}

/** Minimum time between two requests to the issuer, for all callers together. */
export const ASK_AGAIN_MS = 10_000
/** Keys are fetched again after this time, so that a withdrawn key expires even if every token names a known key. */
export const KEEP_MS = 10 * 60_000
const TIMEOUT_MS = 10_000
const MAX_ANSWER = 1 << 20

export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  readonly #agent: Agent
  #known: { readonly keys: KeySet; readonly at: number } | undefined
  #failure = new IssuerAway("the issuer was not queried yet")
  #askedAt = Number.NEGATIVE_INFINITY
  #pending: Promise<void> | undefined

  constructor(options: IssuerKeysOptions) {
    this.#options = options
    const connect = { ...TLS_FLOOR, ca: options.ca ?? [...rootCertificates], timeout: TIMEOUT_MS }
    this.#agent = new Agent({ connect, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, keepAliveTimeout: 1_000 })
  }

  /** Throws IssuerAway if no keys have ever been fetched. */
  async current(): Promise<KeySet> {
    const { clock } = this.#options
    if (this.#known === undefined || this.#known.at + KEEP_MS <= clock()) await this.#ask()
    // Keep last good: an issuer that is temporarily unavailable has not withdrawn any keys.
    if (this.#known === undefined) throw this.#failure
    return this.#known.keys
  }

  /** Returns keys other than `keys`, or undefined if there are none or it is too early to fetch. */
  async newerThan(keys: KeySet): Promise<KeySet | undefined> {
    if (this.#known?.keys === keys) await this.#ask()
    return this.#known?.keys === keys ? undefined : this.#known?.keys
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  /** All waiting callers share one request. */
  async #ask(): Promise<void> {
    const { clock } = this.#options
    if (this.#pending === undefined && clock() < this.#askedAt + ASK_AGAIN_MS) return
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined
    })
    await this.#pending
  }

  async #fetch(): Promise<void> {
    const { issuerUrl, clock } = this.#options
    this.#askedAt = clock()
    try {
      const document = await this.#json(`${issuerUrl.replace(/\/$/, "")}/.well-known/openid-configuration`)
      // OpenID Connect Discovery 1.0, 4.3: the document of another issuer would name the keys of that issuer.
      if (document.issuer !== issuerUrl)
        throw new Error(`its discovery document names the issuer ${JSON.stringify(document.issuer ?? null)}`)
      const set = await this.#json(asString(document.jwks_uri))
      // jose reads each key on its first use, and rejects keys that it cannot use.
      this.#known = { keys: createLocalJWKSet(set as never), at: clock() }
    } catch (error) {
      this.#failure = new IssuerAway(
        `the OpenID Connect issuer \`${issuerUrl}\` cannot be queried for its keys: ${messageOf(error)}`,
        { cause: error },
      )
    }
  }

  async #json(address: string): Promise<JsonObject> {
    const url = URL.canParse(address) ? new URL(address) : undefined
    // Fail closed: over plaintext, any host on the path could substitute its own keys.
    if (url?.protocol !== "https:") throw new Error(`\`${address}\` is not an https URL`)
    const { origin, pathname, search } = url
    const answer = await this.#agent.request({
      ...{ origin, path: `${pathname}${search}`, method: "GET", headers: { accept: "application/json" } },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_ANSWER) throw new Error(`\`${address}\` sent more than ${MAX_ANSWER} bytes`)
      chunks.push(chunk)
    }
    // A redirect is rejected too: it could lead to the keys of another issuer.
    if (answer.statusCode !== 200) throw new Error(`\`${address}\` responded with ${answer.statusCode}, not 200`)
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"))
    // JSON.parse only returns JSON values.
    if (!isObject(value as Json)) throw new Error(`\`${address}\` is not a JSON object`)
    return value as JsonObject
  }
}
