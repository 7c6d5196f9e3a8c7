// SPDX-License-Identifier: Apache-2.0
// Service-account tokens: signed JWTs with audience, expiry and the object they are bound to. A token is valid only while
// its account, and the Pod or Secret it is bound to, still exist with the same uid.

import { createPublicKey, type KeyObject, randomUUID } from "node:crypto"
import { errors, type JWTPayload, jwtVerify, SignJWT } from "jose"
import type { Catalog } from "../registry/catalog.js"
import type { User } from "../registry/context.js"
import { keyOf } from "../registry/kind.js"
import type { Store } from "../store/store.js"
import { asObject, asString, asStrings, dig, isObject, type JsonObject } from "../value.js"
import type { Credentials } from "./pki.js"

export const ISSUER = "https://kubernetes.default.svc"
/** The maximum difference of two servers' clocks before one rejects a token that the other has just issued. */
const CLOCK_SKEW_SECONDS = 60
const EXPIRED = "service account token has expired"
const NOT_YET = "service account token is not valid yet"
/** The maximum number of cached signatures. */
const MAX_CACHED = 1000
/** How long the tokens of an object that is being deleted stay valid, so that it can shut down cleanly. */
const DELETED_LEEWAY_MS = 60_000

export interface BoundObject {
  readonly kind: "pod" | "secret" | "node"
  readonly name: string
  readonly uid: string
}

export interface TokenClaims {
  readonly namespace: string
  readonly account: string
  readonly accountUid: string
  readonly audiences: readonly string[]
  readonly expirationSeconds: number
  readonly bound?: BoundObject
}

/** `told` is a message for the sender of the token, about problems that are not in the token. */
export type TokenResult =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly error: string; readonly senderMessage?: string }

export interface TokenChecker {
  /** Returns the user of a token for one of the audiences, or the reason for rejecting it. */
  check(token: string, audiences: readonly string[]): Promise<TokenResult>
}

export class Tokens implements TokenChecker {
  /** The signature algorithm. It follows from the key, and no other is accepted. */
  readonly algorithm: "ES256" | "RS256"
  readonly #publicKey: KeyObject
  /**
   * Verified tokens and their claims. Clients send the same token with each request, and a valid signature stays valid.
   */
  readonly #cache = new Map<string, JWTPayload>()

  constructor(
    readonly credentials: Credentials,
    readonly store: Pick<Store, "get">,
    readonly catalog: Catalog,
    readonly clock: () => number,
  ) {
    this.#publicKey = createPublicKey(credentials.tokenKey)
    this.algorithm = this.#publicKey.asymmetricKeyType === "rsa" ? "RS256" : "ES256"
  }

  async issue(claims: TokenClaims): Promise<{ token: string; expires: number }> {
    const now = Math.floor(this.clock() / 1000)
    const bound = claims.bound
    const payload: JWTPayload = {
      aud: [...claims.audiences],
      exp: now + claims.expirationSeconds,
      iat: now,
      iss: ISSUER,
      jti: randomUUID(),
      "kubernetes.io": {
        namespace: claims.namespace,
        ...(bound === undefined ? {} : { [bound.kind]: { name: bound.name, uid: bound.uid } }),
        serviceaccount: { name: claims.account, uid: claims.accountUid },
      },
      nbf: now,
      sub: `system:serviceaccount:${claims.namespace}:${claims.account}`,
    }
    const token = await new SignJWT(payload)
      .setProtectedHeader({ alg: this.algorithm, kid: this.credentials.tokenKeyId })
      .sign(this.credentials.tokenKey)
    return { token, expires: now + claims.expirationSeconds }
  }

  /** Returns the account of a token for one of the audiences, or the reason for rejecting it. */
  async check(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const invalid = (why: string): TokenResult => ({ error: `[invalid bearer token, ${why}]` })
    const payload = await this.#verified(token)
    if (payload === undefined) return { error: "invalid bearer token" }
    if (typeof payload === "string") return invalid(payload)
    const own = asStrings(payload.aud)
    const shared = audiences.filter(audience => own.includes(audience))
    const quoted = (list: readonly string[]): string => `[${list.map(item => JSON.stringify(item)).join(" ")}]`
    if (shared.length === 0)
      return invalid(`token audiences ${quoted(own)} is invalid for the target audiences ${quoted(audiences)}`)
    const claims = asObject(payload["kubernetes.io"])
    const namespace = asString(claims.namespace)
    const account = asObject(claims.serviceaccount)
    const stale = await this.#stale(namespace, claims, account)
    if (stale !== undefined) return invalid(stale)
    const name = asString(account.name)
    const extra: Record<string, string[]> = {
      "authentication.kubernetes.io/credential-id": [`JTI=${asString(payload.jti)}`],
    }
    if (isObject(claims.pod)) {
      extra["authentication.kubernetes.io/pod-name"] = [asString(claims.pod.name)]
      extra["authentication.kubernetes.io/pod-uid"] = [asString(claims.pod.uid)]
    }
    return {
      user: {
        name: `system:serviceaccount:${namespace}:${name}`,
        uid: asString(account.uid),
        groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
        extra,
      },
      audiences: shared,
    }
  }

  /** Returns the claims of a token that we signed, a text if it has expired or is not yet valid, or undefined. */
  async #verified(token: string): Promise<JsonObject | string | undefined> {
    try {
      const payload = this.#cache.get(token) ?? (await this.#readSigned(token))
      const now = this.clock()
      // `exp` is exact. Only `nbf` tolerates the difference of another server's clock.
      if ((payload.exp ?? 0) * 1000 < now) return EXPIRED
      if ((payload.nbf ?? 0) * 1000 > now + CLOCK_SKEW_SECONDS * 1000) return NOT_YET
      // jose has parsed it from JSON.
      return payload as JsonObject
    } catch (error) {
      if (error instanceof errors.JWTExpired) return EXPIRED
      if (error instanceof errors.JWTClaimValidationFailed && error.claim === "nbf") return NOT_YET
      // Malformed, or with another key, algorithm or issuer: not one of our tokens.
      return undefined
    }
  }

  async #readSigned(token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, ({ kid }) => this.#keyNamed(kid), {
      ...{ algorithms: [this.algorithm], issuer: ISSUER, requiredClaims: ["exp"] },
      ...{ currentDate: new Date(this.clock()), clockTolerance: CLOCK_SKEW_SECONDS },
    })
    const [oldest] = this.#cache.keys()
    if (this.#cache.size >= MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest)
    this.#cache.set(token, payload)
    return payload
  }

  /** The header may only name our key. It never selects another one. */
  #keyNamed(kid: string | undefined): KeyObject {
    if (kid !== this.credentials.tokenKeyId) throw new errors.JWKSNoMatchingKey()
    return this.#publicKey
  }

  async #stale(namespace: string, claims: JsonObject, account: JsonObject): Promise<string | undefined> {
    const find = async (plural: string, ref: JsonObject): Promise<JsonObject | undefined> => {
      const kind = this.catalog.builtin("", "v1", plural)
      return (await this.store.get(keyOf(kind.info, namespace, asString(ref.name))))?.object
    }
    const found = await find("serviceaccounts", account)
    if (found === undefined) return `serviceaccounts "${asString(account.name)}" not found`
    if (dig(found, "metadata", "uid") !== account.uid || this.#ended(found))
      return "service account token has been invalidated"
    for (const [claim, plural] of [
      ["pod", "pods"],
      ["secret", "secrets"],
    ] as const) {
      const ref = claims[claim]
      if (!isObject(ref)) continue
      const bound = await find(plural, ref)
      if (bound === undefined || dig(bound, "metadata", "uid") !== ref.uid || this.#ended(bound))
        return "service account token has been invalidated"
    }
    return undefined
  }

  /** Whether the deletion began more than a minute ago, although a finalizer still holds the object. */
  #ended(object: JsonObject): boolean {
    const time = Date.parse(asString(dig(object, "metadata", "deletionTimestamp")))
    return time < this.clock() - DELETED_LEEWAY_MS
  }

  publicJwks(): JsonObject {
    const jwk = this.#publicKey.export({ format: "jwk" })
    return { keys: [{ use: "sig", kid: this.credentials.tokenKeyId, alg: this.algorithm, ...jwk }] }
  }
}
