// SPDX-License-Identifier: Apache-2.0
// The certificate of a change and the policies that it names, as they are kept beside the history. An entry holds the
// digest of the certificate, and the certificate the digests of the policies.

import { gunzipSync, gzipSync } from "node:zlib"
import type { ChangeEvidence } from "@merlon/policy/proof"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import { type CertificateNote, sha256 } from "./chain.js"

/** Limit of a certificate and its policies, so that compressing them does not keep other proofs waiting. */
export const MAX_EVIDENCE = 2 << 20
const MAX_PACKED = 128 << 10
const MAX_REASON = 200

/** What an entry says of its certificate, and what is kept. */
export interface RecordedEvidence {
  readonly note: CertificateNote
  /** Compressed; absent if there is no certificate. */
  readonly packed?: string
}

export interface StoredEvidence {
  readonly certificate: string
  /** The policy that changed, and the others that selected its workloads. */
  readonly before: unknown
  readonly after: unknown
  readonly others: readonly unknown[]
}

export function recordedEvidence(evidence: ChangeEvidence | { readonly missing: string }): RecordedEvidence {
  if ("missing" in evidence) return { note: { missing: evidence.missing.slice(0, MAX_REASON) } }
  const { certificate } = evidence
  const text = JSON.stringify(evidence)
  const packed = text.length > MAX_EVIDENCE ? undefined : gzipSync(text).toString("base64")
  if (packed === undefined || packed.length > MAX_PACKED)
    return { note: { missing: "it and its policies are larger than the history keeps" } }
  return { note: { digest: sha256(certificate), size: Buffer.byteLength(certificate) }, packed }
}

/** Fail closed: evidence that cannot be read is empty, and matches no digest. */
export function unpackedEvidence(packed: string): StoredEvidence {
  try {
    const limit = { maxOutputLength: 4 * MAX_EVIDENCE }
    const text = gunzipSync(Buffer.from(packed, "base64"), limit).toString("utf8")
    const { certificate, before, after, others } = objectOf(JSON.parse(text))
    return { certificate: textOf(certificate) ?? "", before, after, others: listOf(others) }
  } catch {
    return { certificate: "", before: undefined, after: undefined, others: [] }
  }
}
