// SPDX-License-Identifier: Apache-2.0
// ID tokens of one OpenID Connect issuer, with the rules of kube-apiserver: claims name the user, with prefixes, so
// that a name from the issuer never equals a name of the cluster.

import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose"
import type { User } from "../registry/context.js"
import { asStrings, type JsonObject } from "../value.js"
import { IssuerAway, IssuerKeys, type KeySet } from "./issuer-keys.js"
import { isDeceiving } from "./subject.js"
import { ISSUER, type TokenChecker, type TokenResult } from "./tokens.js"

export interface OidcOptions {
  readonly issuerUrl: string
  /** Must be among the token's audiences. */
  readonly clientId: string
  readonly usernameClaim: string
  /** Prepended to names; may be empty. */
  readonly usernamePrefix: string
  /** Undefined: tokens name no groups. */
  readonly groupsClaim?: string
  readonly groupsPrefix: string
  readonly requiredClaims: ReadonlyMap<string, string>
  readonly signingAlgorithms: readonly string[]
  /** PEM of the authorities that may sign the issuer's server certificate, instead of the public ones. */
  readonly ca?: string
}

/** Tolerance for `nbf`, because the issuer's clock may differ; `exp` has no tolerance. */
const CLOCK_SKEW_SECONDS = 300

export class OidcTokens implements TokenChecker {
  readonly #keys: IssuerKeys

  constructor(
    readonly options: OidcOptions,
    readonly clock: () => number,
    readonly log: (error: unknown) => void,
  ) {
    const { issuerUrl, ca } = options
    this.#keys = new IssuerKeys({ issuerUrl, clock, ...(ca === undefined ? {} : { ca }) })
  }

  /** Whether a token claims to be from this issuer. If so, no other authenticator checks it. */
  claims(token: string): boolean {
    try {
      return decodeJwt(token).iss === this.options.issuerUrl
    } catch {
      return false
    }
  }

  async check(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const invalid = (why: string): TokenResult => ({ error: `[invalid bearer token, oidc: ${why}]` })
    // An ID token is valid for this API only: the issuer meant no other audience.
    const shared = audiences.filter(audience => audience === ISSUER)
    if (shared.length === 0) return invalid(`the token is for this API, not for ${audiences.join(", ")}`)
    try {
      return { user: this.#userOf(await this.#verified(token)), audiences: shared }
    } catch (error) {
      if (error instanceof IssuerAway) {
        this.log(error)
        return { error: error.message, senderMessage: error.message }
      }
      if (error instanceof Unfit || error instanceof errors.JOSEError) return invalid(error.message)
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#keys.close()
  }

  async #verified(token: string): Promise<JWTPayload> {
    const keys = await this.#keys.current()
    try {
      return await this.#verifiedBy(keys, token)
    } catch (error) {
      const isUnknown =
        error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed
      const newer = isUnknown ? await this.#keys.newerThan(keys) : undefined
      if (newer === undefined) throw error
      return this.#verifiedBy(newer, token)
    }
  }

  async #verifiedBy(keys: KeySet, token: string): Promise<JWTPayload> {
    const { issuerUrl: issuer, clientId: audience, signingAlgorithms } = this.options
    const wanted = {
      ...{ issuer, audience, algorithms: [...signingAlgorithms] },
      ...{ currentDate: new Date(this.clock()), clockTolerance: CLOCK_SKEW_SECONDS },
    }
    let payload: JWTPayload | undefined
    try {
      payload = (await jwtVerify(token, keys, wanted)).payload
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // The token does not name its key, so every key of the issuer that fits is tried.
      for await (const key of error) {
        payload ??= (
          await jwtVerify(token, key, wanted).catch(failure => {
            if (failure instanceof errors.JWSSignatureVerificationFailed) return undefined
            throw failure
          })
        )?.payload
      }
      if (payload === undefined) throw new errors.JWSSignatureVerificationFailed()
    }
    // A token without `exp` is rejected too.
    if ((payload.exp ?? 0) * 1_000 <= this.clock()) throw new Unfit("the token has expired")
    return payload
  }

  #userOf(payload: JWTPayload): User {
    const { usernamePrefix, groupsClaim, groupsPrefix, requiredClaims } = this.options
    // jose has parsed it from JSON.
    const claims = payload as JsonObject
    for (const [claim, value] of requiredClaims)
      if (claims[claim] !== value) throw new Unfit(`the token's claim \`${claim}\` is not \`${value}\``)
    const name = `${usernamePrefix}${this.#nameIn(claims)}`
    const groups =
      groupsClaim === undefined ? [] : groupsIn(claims, groupsClaim).map(group => `${groupsPrefix}${group}`)
    const { jti } = payload
    return {
      ...{ name, uid: "", groups: [...groups, "system:authenticated"] },
      extra: typeof jti === "string" ? { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] } : {},
    }
  }

  #nameIn(claims: JsonObject): string {
    const { usernameClaim } = this.options
    const name = claims[usernameClaim]
    if (typeof name !== "string" || name === "" || isDeceiving(name))
      throw new Unfit(`the token's claim \`${usernameClaim}\` is not a user name`)
    // A user who can enter any address at the issuer could otherwise pose as another user.
    if (usernameClaim === "email" && (claims.email_verified ?? true) !== true)
      throw new Unfit("the issuer has not verified the token's `email`")
    return name
  }
}

/** A single group may be a string instead of a list. */
function groupsIn(claims: JsonObject, claim: string): readonly string[] {
  const claimed = claims[claim] ?? []
  const groups = typeof claimed === "string" ? [claimed] : asStrings(claimed)
  const isWhole = typeof claimed === "string" || (Array.isArray(claimed) && groups.length === claimed.length)
  // Fail closed: a group that could not be read might be one that restricts the user.
  if (!isWhole || groups.some(group => group === "" || isDeceiving(group)))
    throw new Unfit(`the token's claim \`${claim}\` is not a list of groups`)
  return groups
}

/** The signature is valid, but the token names no user that can be trusted. */
class Unfit extends Error {
  override readonly name = "Unfit"
}
