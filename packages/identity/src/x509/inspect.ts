// SPDX-License-Identifier: Apache-2.0
// What node:crypto does not tell of a certificate, read from its DER and not from a printed form: in the printed form
// one name can be written so that it looks like two (CVE-2021-44532).

import { type DerElement, readElements, readOnly, readWithin } from "../der/read.js"
import { contextTag, TAG } from "../der/tags.js"
import { objectIdentifier } from "../der/write.js"
import { type CertifiedPod, GENERAL_NAME, OID } from "./extensions.js"

export interface Inspected {
  /** Name, DER: what certificates that this one signs carry as their issuer. */
  readonly subject: Buffer
  readonly keyIdentifier: Buffer | undefined
  readonly uris: readonly string[]
  readonly authority: boolean
  /** How many authorities may stand between this one and a leaf. */
  readonly pathLength: number | undefined
  /** Whether its key may sign certificates. */
  readonly signsCertificates: boolean
  /** The Pod it was signed for, where it was signed for one. */
  readonly pod: CertifiedPod | undefined
}

/** Where each part stands in the signed part of a version 3 certificate (RFC 5280 section 4.1). */
const SUBJECT = 5
const EXTENSIONS = contextTag(3, true)
/** RFC 5280 section 4.2.1.3, bit 5. */
const KEY_CERT_SIGN = 0b0000_0100

/** Undefined where the certificate is not one of version 3 in DER, or has an extension twice. */
export function inspect(certificate: Uint8Array): Inspected | undefined {
  const signed = readWithin(readWithin(readOnly(certificate, TAG.sequence), TAG.sequence)?.[0], TAG.sequence)
  const subject = signed?.[SUBJECT]
  if (signed?.[0]?.tag !== contextTag(0, true) || subject?.tag !== TAG.sequence) return undefined
  const extensions = extensionsOf(signed.find(({ tag }) => tag === EXTENSIONS))
  if (extensions === undefined) return undefined
  const uris = urisIn(extensions.get(OID.subjectAltName))
  const constraints = constraintsIn(extensions.get(OID.basicConstraints))
  const identifier = extensions.get(OID.subjectKeyIdentifier)
  const usage = extensions.get(OID.keyUsage)
  const named = extensions.get(OID.workloadPod)
  const pod = named && podIn(named)
  if (uris === undefined || constraints === undefined || (named !== undefined && pod === undefined)) return undefined
  return {
    subject: subject.raw,
    keyIdentifier: identifier && readOnly(identifier, TAG.octetString)?.value,
    uris,
    ...constraints,
    signsCertificates: usage === undefined || ((readOnly(usage, TAG.bitString)?.value[1] ?? 0) & KEY_CERT_SIGN) !== 0,
    pod,
  }
}

const KNOWN = new Map(
  [OID.subjectAltName, OID.basicConstraints, OID.subjectKeyIdentifier, OID.keyUsage, OID.workloadPod].map(oid => [
    objectIdentifier(oid).toString("hex"),
    oid,
  ]),
)

/** Contents of the extensions that are read here, by identifier. */
function extensionsOf(explicit: DerElement | undefined): ReadonlyMap<string, Buffer> | undefined {
  const found = new Map<string, Buffer>()
  if (explicit === undefined) return found
  const list = readWithin(readOnly(explicit.value, TAG.sequence), TAG.sequence)
  if (list === undefined) return undefined
  for (const item of list) {
    const parts = readWithin(item, TAG.sequence)
    const value = parts?.at(-1)
    if (parts?.[0] === undefined || value?.tag !== TAG.octetString) return undefined
    const known = KNOWN.get(parts[0].raw.toString("hex"))
    if (known === undefined) continue
    // RFC 5280 section 4.2: no extension twice. Two readers might otherwise believe different ones.
    if (found.has(known)) return undefined
    found.set(known, value.value)
  }
  return found
}

function urisIn(extension: Buffer | undefined): readonly string[] | undefined {
  if (extension === undefined) return []
  const names = readWithin(readOnly(extension, TAG.sequence), TAG.sequence)
  return names?.filter(({ tag }) => tag === GENERAL_NAME.uri).map(({ value }) => value.toString("latin1"))
}

function podIn(extension: Buffer): CertifiedPod | undefined {
  const [name, uid, ...others] = readWithin(readOnly(extension, TAG.sequence), TAG.sequence) ?? []
  if (name?.tag !== TAG.utf8String || uid?.tag !== TAG.utf8String || others.length > 0) return undefined
  return { name: name.value.toString("utf8"), uid: uid.value.toString("utf8") }
}

function constraintsIn(extension: Buffer | undefined) {
  if (extension === undefined) return { authority: false, pathLength: undefined }
  const sequence = readOnly(extension, TAG.sequence)
  const parts = sequence && readElements(sequence.value)
  if (parts === undefined) return undefined
  const [flag, length] = parts
  const authority = flag?.tag === TAG.boolean && flag.value[0] === 0xff
  if (length === undefined) return { authority, pathLength: undefined }
  if (length.tag !== TAG.integer || length.value.length !== 1) return undefined
  return { authority, pathLength: length.value[0] }
}
