// SPDX-License-Identifier: Apache-2.0
//
// Service-account tokens: signed JWTs (RS256) with audience, expiry and the object they are bound to. A token is good
// only while its account, and the Pod or Secret it is bound to, still exist with the same uid.

import { createPublicKey, type KeyObject, randomUUID, sign, verify } from "node:crypto"
import type { Catalog } from "../registry/catalog.js"
import type { User } from "../registry/context.js"
import { keyOf } from "../registry/kind.js"
import type { Store } from "../store/store.js"
import { asObject, asString, asStrings, dig, isNumber, isObject, type JsonObject } from "../value.js"
import type { Papers } from "./pki.js"

export const ISSUER = "https://kubernetes.default.svc"
const CLOCK_SKEW = 0
/** How long the token of something that is being deleted stays good, for an orderly end. */
const DELETED_LEEWAY_MS = 60_000

export interface BoundObject {
  kind: "pod" | "secret" | "node"
  name: string
  uid: string
}

export interface TokenClaims {
  namespace: string
  account: string
  accountUid: string
  audiences: readonly string[]
  expirationSeconds: number
  bound?: BoundObject
}

export type TokenResult = { user: User; audiences: string[] } | { error: string }

export class Tokens {
  readonly #publicKey: KeyObject

  constructor(
    readonly papers: Papers,
    readonly store: Store,
    readonly catalog: Catalog,
    readonly clock: () => number,
  ) {
    this.#publicKey = createPublicKey(papers.tokenKey)
  }

  issue(claims: TokenClaims): { token: string; expires: number } {
    const now = Math.floor(this.clock() / 1000)
    const bound = claims.bound
    const payload: JsonObject = {
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
    const part = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString("base64url")
    const body = `${part({ alg: "RS256", kid: this.papers.tokenKeyId })}.${part(payload)}`
    return {
      token: `${body}.${sign("sha256", Buffer.from(body), this.papers.tokenKey).toString("base64url")}`,
      expires: now + claims.expirationSeconds,
    }
  }

  /** The account behind a token for one of the audiences, or why there is none. */
  async check(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const payload = this.#verified(token)
    if (payload === undefined) return { error: "invalid bearer token" }
    const invalid = (why: string): TokenResult => ({ error: `[invalid bearer token, ${why}]` })
    const now = this.clock() / 1000
    const { exp, nbf } = payload
    if (!isNumber(exp) || now > Number(exp) + CLOCK_SKEW) return invalid("service account token has expired")
    if (isNumber(nbf) && now < Number(nbf) - 60) return invalid("service account token is not valid yet")
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

  #verified(token: string): JsonObject | undefined {
    const parts = token.split(".")
    const [head, body, signature] = parts
    if (parts.length !== 3 || head === undefined || body === undefined || signature === undefined) return undefined
    try {
      const header = JSON.parse(Buffer.from(head, "base64url").toString()) as JsonObject
      // Only our own algorithm and key: the header must not choose how it is verified.
      if (header.alg !== "RS256" || header.kid !== this.papers.tokenKeyId) return undefined
      if (!verify("sha256", Buffer.from(`${head}.${body}`), this.#publicKey, Buffer.from(signature, "base64url")))
        return undefined
      const payload = JSON.parse(Buffer.from(body, "base64url").toString()) as JsonObject
      return payload.iss === ISSUER ? payload : undefined
    } catch {
      // Not base64 or not JSON: no token of ours.
      return undefined
    }
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

  /** Deleted for a while, though a finalizer still holds it. */
  #ended(object: JsonObject): boolean {
    const time = Date.parse(asString(dig(object, "metadata", "deletionTimestamp")))
    return time < this.clock() - DELETED_LEEWAY_MS
  }

  publicJwks(): JsonObject {
    const jwk = this.#publicKey.export({ format: "jwk" })
    return {
      keys: [{ use: "sig", kty: "RSA", kid: this.papers.tokenKeyId, alg: "RS256", n: jwk.n ?? "", e: jwk.e ?? "" }],
    }
  }
}
