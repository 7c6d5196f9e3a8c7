// SPDX-License-Identifier: Apache-2.0
// Authenticates a caller. A certificate that is bound to a Pod proves everything a token could, without a token review.
// Otherwise a token takes precedence, because it may be bound to a Pod, and any other certificate counts if there is no
// valid token. The caller's own claims are never used.

import { ConcurrencyLimit } from "@merlon/wire/limits"
import { type Log, messageOf } from "../runtime/log.js"
import { within } from "../runtime/within.js"
import type { ServerLimits } from "./limits.js"
import { isCurrent, type PeerCertificate } from "./peer-certificate.js"
import type { Caller, Rejection } from "./source.js"
import { exhausted, type StreamError } from "./stream-error.js"

export interface AuthenticationOptions {
  /** Undefined for an invalid token. Throws if it could not be checked. */
  readonly verifyToken: (token: string) => Promise<Caller | undefined>
  /** Called if the chain and the dates are valid. Undefined if the identity does not belong to the mesh. */
  readonly checkCertificate: (certificate: PeerCertificate) => Caller | Rejection | undefined
  /** Whether its chain leads to a current root, because a connection may outlast its root. */
  readonly isTrusted: (certificate: PeerCertificate) => boolean
  /** Why a connected caller may not stay; undefined if it may. */
  readonly reject: (caller: Caller) => Rejection | undefined
  readonly limits: ServerLimits
  readonly log: Log
  readonly now: () => number
}

export interface Authenticated {
  readonly caller: Caller
  /** The certificate that authenticated the caller, if one did. */
  readonly certificate?: PeerCertificate
}

const NO_PROOF: StreamError = {
  code: "UNAUTHENTICATED",
  message: "send a service-account token or a certificate of the mesh",
}

const NO_LONGER: StreamError = {
  code: "UNAUTHENTICATED",
  message: "the certificate leads to a root that is no longer trusted; send a service-account token",
}

export class Authenticator {
  readonly #options: AuthenticationOptions
  /** Any client that reaches the port can make us review a token, so concurrent reviews are limited. */
  readonly #tokenChecks: ConcurrencyLimit

  constructor(options: AuthenticationOptions) {
    this.#options = options
    const { pendingProofs: atOnce, waitingProofs: queue, proofMs: waitMs } = options.limits
    this.#tokenChecks = new ConcurrencyLimit({ atOnce, queue, waitMs })
  }

  async authenticate(
    authorization: string | undefined,
    certificate: PeerCertificate | undefined,
  ): Promise<Authenticated | StreamError> {
    const byCertificate = certificate === undefined ? undefined : this.byCertificate(certificate)
    if (byCertificate !== undefined && "caller" in byCertificate && this.#namesPod(byCertificate)) return byCertificate
    const token = bearerToken(authorization)
    const byToken = token === undefined ? undefined : await this.#byToken(token)
    if (byToken !== undefined && "caller" in byToken) return byToken
    if (byCertificate !== undefined && "caller" in byCertificate) return byCertificate
    return byToken ?? byCertificate ?? NO_PROOF
  }

  /** Also called again for open streams. */
  byCertificate(certificate: PeerCertificate): Authenticated | StreamError {
    if (!isCurrent(certificate, this.#options.now())) {
      return { code: "UNAUTHENTICATED", message: "the certificate has expired; send a service-account token" }
    }
    if (!this.#options.isTrusted(certificate)) return NO_LONGER
    const found = this.#options.checkCertificate(certificate)
    if (found === undefined) return NO_PROOF
    return "code" in found ? found : { caller: found, certificate }
  }

  /**
   * Whether the certificate names a Pod that still exists. If the Pod was recreated under the same name, the token is
   * newer.
   */
  #namesPod({ caller }: Authenticated): boolean {
    return caller.pod !== undefined && caller.podUid !== undefined && this.#options.reject(caller) === undefined
  }

  async #byToken(token: string): Promise<Authenticated | StreamError> {
    const { limits, verifyToken, log } = this.#options
    if (token.length > limits.tokenLength) return { code: "UNAUTHENTICATED", message: "the token is too long" }
    const release = await this.#tokenChecks.enter()
    if (release === undefined) return exhausted("too many tokens are being verified; retry")
    try {
      const caller = await within(limits.proofMs, verifyToken(token))
      if (caller !== undefined) return { caller }
      return { code: "UNAUTHENTICATED", message: "the service-account token is not valid; read it again and retry" }
    } catch (error) {
      // Fail closed: an unverified token is not accepted.
      log.warn({ error: messageOf(error) }, "a token could not be verified")
      return { code: "UNAVAILABLE", message: "the token could not be verified now; retry" }
    } finally {
      release()
    }
  }
}

function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  return /^bearer +(\S+)$/i.exec(authorization)?.[1]
}
