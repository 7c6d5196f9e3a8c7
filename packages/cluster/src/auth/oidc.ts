// SPDX-License-Identifier: Apache-2.0
// ID tokens of one OpenID Connect issuer, as kube-apiserver accepts them: claims name the user, with prefixes, so that a
// name of the issuer never equals a name of the cluster.

import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose"
import type { User } from "../registry/context.js"
import { asStrings, type JsonObject } from "../value.js"
import { IssuerAway, IssuerKeys, type KeySet } from "./issuer-keys.js"
import { isDeceiving } from "./subject.js"
import { ISSUER, type TokenChecker, type TokenResult } from "./tokens.js"

export interface OidcOptions {
  readonly issuerUrl: string
  /** Among a token's audiences. */
  readonly clientId: string
  readonly usernameClaim: string
  /** As it stands before names; empty for none. */
  readonly usernamePrefix: string
  /** Undefined: tokens bring no groups. */
  readonly groupsClaim?: string
  readonly groupsPrefix: string
  readonly requiredClaims: ReadonlyMap<string, string>
  readonly signingAlgorithms: readonly string[]
  /** PEM of the authorities that the issuer's server may have, instead of the public ones. */
  readonly ca?: string
}

/** Of beginnings, whose clock is another one's; an end is an end. */
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

  /** Whether a token claims to be from this issuer: then no other authenticator looks at it. */
  claims(token: string): boolean {
    try {
      return decodeJwt(token).iss === this.options.issuerUrl
    } catch {
      return false
    }
  }

  async check(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const invalid = (why: string): TokenResult => ({ error: `[invalid bearer token, oidc: ${why}]` })
    // An ID token is for this API alone: no other audience was ever meant by it.
    const shared = audiences.filter(audience => audience === ISSUER)
    if (shared.length === 0) return invalid(`the token is for this API, not for ${audiences.join(", ")}`)
    try {
      return { user: this.#userOf(await this.#verified(token)), audiences: shared }
    } catch (error) {
      if (error instanceof IssuerAway) {
        this.log(error)
        return { error: error.message, told: error.message }
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
      // The token does not say which key: any of the issuer's that fits will do.
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
    // Also one without an end.
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
      throw new Unfit(`the token's claim \`${usernameClaim}\` is no name`)
    // A user who may enter any address there could pose as any other user.
    if (usernameClaim === "email" && (claims.email_verified ?? true) !== true)
      throw new Unfit("the issuer has not verified the token's `email`")
    return name
  }
}

/** One group may stand without a list. */
function groupsIn(claims: JsonObject, claim: string): readonly string[] {
  const said = claims[claim] ?? []
  const groups = typeof said === "string" ? [said] : asStrings(said)
  const isWhole = typeof said === "string" || (Array.isArray(said) && groups.length === said.length)
  // Fail closed: a name that was not read could be the one that takes rights away.
  if (!isWhole || groups.some(group => group === "" || isDeceiving(group)))
    throw new Unfit(`the token's claim \`${claim}\` is no list of groups`)
  return groups
}

/** A valid signature, but no user that may be trusted. */
class Unfit extends Error {
  override readonly name = "Unfit"
}
