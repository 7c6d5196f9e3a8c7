// SPDX-License-Identifier: Apache-2.0
// Signs a workload's certificate. The identity comes only from the caller's credentials; only the public key of the
// request is used. A revoked caller gets no certificate, whatever credentials it still has.

import {
  type CertifiedPod,
  canonicalSerial,
  clampTtl,
  IdentityError,
  readSigningRequest,
  type SignedCertificate,
  type TtlLimits,
} from "@merlon/identity"
import { parseSpiffeId } from "@merlon/policy/request"
import { messageOf } from "@merlon/xds/runtime"
import type { Caller, Rejection } from "@merlon/xds/server"
import type { SigningOutcome } from "./expiry.js"
import type { KeySource } from "./key-source.js"
import type { RevocationList } from "./revocation-list.js"

export interface SignedWorkload extends SignedCertificate {
  /** Every currently trusted root, in PEM. */
  readonly trustBundle: string
}

export type SignResult =
  | { readonly ok: true; readonly certificate: SignedWorkload }
  | ({ readonly ok: false; readonly outcome: Exclude<SigningOutcome, "signed"> } & Rejection)

export interface SignContext {
  readonly keys: KeySource
  readonly revocations: RevocationList
  readonly trustDomain: string
  readonly ttl: TtlLimits
}

export async function signWorkload(
  context: SignContext,
  caller: Caller,
  signingRequest: Uint8Array,
  ttlSeconds: number,
  now: number,
): Promise<SignResult> {
  const { keys, trustDomain, ttl } = context
  const identity = identityOf(caller)
  if (caller.trustDomain !== trustDomain || identity === undefined) {
    return rejected(
      "foreign",
      "PERMISSION_DENIED",
      `this control plane signs only identities of the trust domain \`${trustDomain}\``,
    )
  }
  if (isRevoked(context, caller, identity)) return revoked()
  const life = clampTtl(ttlSeconds * 1000, ttl)
  if (!life.ok) return rejected("bad-ttl", "INVALID_ARGUMENT", life.message)
  const request = readSigningRequest(signingRequest)
  if (!request.ok) return rejected("bad-request", "INVALID_ARGUMENT", request.message)
  try {
    await keys.allowTtl(life.ttlMs)
    // Checked again after the wait: a caller that was revoked in the meantime gets no certificate.
    if (isRevoked(context, caller, identity)) return revoked()
    const { signer, bundle } = keys.current
    const signed = signer.sign({
      publicKey: request.publicKey,
      identity,
      pod: podOf(caller),
      ttlMs: life.ttlMs,
      now,
    })
    return { ok: true, certificate: { ...signed, trustBundle: bundle } }
  } catch (error) {
    // Problems with our own keys or the API are not revealed to the caller; it only has to retry.
    const reason = error instanceof IdentityError ? messageOf(error) : "the authority cannot sign now; retry"
    return rejected("unavailable", "UNAVAILABLE", reason)
  }
}

function identityOf({ trustDomain, namespace, serviceAccount }: Caller): string | undefined {
  return parseSpiffeId(`spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`)?.uri
}

/** The Pod of the caller's credentials: a certificate of a Pod is renewed for the same Pod. */
function podOf({ pod, podUid }: Caller): CertifiedPod | undefined {
  return pod === undefined || podUid === undefined ? undefined : { name: pod, uid: podUid }
}

function isRevoked({ revocations }: SignContext, { proof, serial }: Caller, identity: string): boolean {
  if (revocations.hasIdentity(identity)) return true
  if (proof === "token") return false
  // Fail closed: a certificate without a known serial number cannot be checked against the list.
  return serial === undefined || revocations.hasSerial(canonicalSerial(serial))
}

function revoked(): SignResult {
  return rejected("revoked", "PERMISSION_DENIED", "the identity or the certificate of the caller is revoked")
}

function rejected(outcome: Exclude<SigningOutcome, "signed">, code: Rejection["code"], message: string): SignResult {
  return { ok: false, outcome, code, message }
}
