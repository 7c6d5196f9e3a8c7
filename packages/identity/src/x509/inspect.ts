// SPDX-License-Identifier: Apache-2.0
// Reads from a certificate's DER what node:crypto does not expose. It never parses the printed form, in which one name
// can look like two (CVE-2021-44532). Callers, servers and authorities all use this parser, so that no two of them see
// different names in one certificate. Strict; returns a value for any input.

import { parseSpiffeId, type SpiffeId } from "@merlon/policy/request"
import { type DerElement, readElements, readOnly, readWithin } from "../der/read.js"
import { contextTag, TAG } from "../der/tags.js"
import { objectIdentifier } from "../der/write.js"
import { type CertifiedPod, GENERAL_NAME, OID } from "./extensions.js"

export interface Inspected {
  /** Name, DER: the issuer of certificates that this one signs. */
  readonly subject: Buffer
  readonly keyIdentifier: Buffer | undefined
  /** Set if the certificate is a leaf with exactly one URI, and that is an identity (X509-SVID sections 2 and 5.2). */
  readonly identity: SpiffeId | undefined
  readonly names: SubjectAltNames
  readonly authority: boolean
  /** How many authorities may be between this one and a leaf. */
  readonly pathLength: number | undefined
  /** Whether its key may sign certificates. */
  readonly signsCertificates: boolean
  /** The Pod that it was signed for, if any. */
  readonly pod: CertifiedPod | undefined
}

export interface SubjectAltNames {
  readonly uris: readonly string[]
  readonly dns: readonly string[]
}

/** Positions in the signed part of a version 3 certificate (RFC 5280 section 4.1). */
const SUBJECT = 5
const EXTENSIONS = contextTag(3, true)
/** RFC 5280 section 4.2.1.3, bits 5 and 6. */
const KEY_CERT_SIGN = 0b0000_0100
const CRL_SIGN = 0b0000_0010

/** Undefined if it is not a version 3 certificate in DER, has a repeated extension or a name that is not printable. */
export function inspectCertificate(certificate: Uint8Array): Inspected | undefined {
  const signed = readWithin(readWithin(readOnly(certificate, TAG.sequence), TAG.sequence)?.[0], TAG.sequence)
  const subject = signed?.[SUBJECT]
  if (signed?.[0]?.tag !== contextTag(0, true) || subject?.tag !== TAG.sequence) return undefined
  const extensions = extensionsOf(signed.filter(({ tag }) => tag === EXTENSIONS))
  if (extensions === undefined) return undefined
  const names = namesIn(extensions.get(OID.subjectAltName))
  const constraints = constraintsIn(extensions.get(OID.basicConstraints))
  const identifier = extensions.get(OID.subjectKeyIdentifier)
  const usage = usageIn(extensions.get(OID.keyUsage))
  const named = extensions.get(OID.workloadPod)
  const pod = named && podIn(named)
  if (names === undefined || constraints === undefined || (named !== undefined && pod === undefined)) return undefined
  return {
    subject: subject.raw,
    keyIdentifier: identifier && readOnly(identifier, TAG.octetString)?.value,
    // Only leaves authenticate workloads; an authority's certificate never does, whatever its names.
    identity:
      constraints.authority || ((usage ?? 0) & (KEY_CERT_SIGN | CRL_SIGN)) !== 0 ? undefined : identityIn(names),
    names,
    ...constraints,
    signsCertificates: usage === undefined || (usage & KEY_CERT_SIGN) !== 0,
    pod,
  }
}

const KNOWN = new Map(
  [OID.subjectAltName, OID.basicConstraints, OID.subjectKeyIdentifier, OID.keyUsage, OID.workloadPod].map(oid => [
    objectIdentifier(oid).toString("hex"),
    oid,
  ]),
)

/** Contents of the extensions that are parsed here, by identifier. */
function extensionsOf([explicit, ...others]: readonly DerElement[]): ReadonlyMap<string, Buffer> | undefined {
  const found = new Map<string, Buffer>()
  if (explicit === undefined) return found
  if (others.length > 0) return undefined
  const list = readWithin(readOnly(explicit.value, TAG.sequence), TAG.sequence)
  if (list === undefined) return undefined
  for (const item of list) {
    const [id, ...parts] = readWithin(item, TAG.sequence) ?? []
    const [value, ...rest] = parts[0]?.tag === TAG.boolean ? parts.slice(1) : parts
    if (id?.tag !== TAG.objectIdentifier || value?.tag !== TAG.octetString || rest.length > 0) return undefined
    const known = KNOWN.get(id.raw.toString("hex"))
    if (known === undefined) continue
    // RFC 5280 section 4.2: no repeated extensions. Two parsers might otherwise use different ones.
    if (found.has(known)) return undefined
    found.set(known, value.value)
  }
  return found
}

function namesIn(extension: Buffer | undefined): SubjectAltNames | undefined {
  const uris: string[] = []
  const dns: string[] = []
  if (extension === undefined) return { uris, dns }
  const list = readWithin(readOnly(extension, TAG.sequence), TAG.sequence)
  if (list === undefined) return undefined
  for (const { tag, value } of list) {
    const names = tag === GENERAL_NAME.uri ? uris : tag === GENERAL_NAME.dns ? dns : undefined
    if (names === undefined) continue
    const text = value.toString("latin1")
    // IA5String, printable characters only: a NUL, a line break or a non-ASCII letter is an attempt to confuse a
    // parser.
    if (!/^[\x20-\x7e]*$/.test(text)) return undefined
    names.push(text)
  }
  return { uris, dns }
}

/** With two URIs it would be ambiguous who the holder is. */
function identityIn({ uris: [uri, ...others] }: SubjectAltNames): SpiffeId | undefined {
  return uri === undefined || others.length > 0 ? undefined : parseSpiffeId(uri)
}

function podIn(extension: Buffer): CertifiedPod | undefined {
  const [name, uid, ...others] = readWithin(readOnly(extension, TAG.sequence), TAG.sequence) ?? []
  if (name?.tag !== TAG.utf8String || uid?.tag !== TAG.utf8String || others.length > 0) return undefined
  return { name: name.value.toString("utf8"), uid: uid.value.toString("utf8") }
}

/** The first eight bits; 0 if they are invalid. */
function usageIn(extension: Buffer | undefined): number | undefined {
  return extension && (readOnly(extension, TAG.bitString)?.value[1] ?? 0)
}

function constraintsIn(extension: Buffer | undefined) {
  if (extension === undefined) return { authority: false, pathLength: undefined }
  const sequence = readOnly(extension, TAG.sequence)
  const parts = sequence && readElements(sequence.value)
  if (parts === undefined) return undefined
  const [flag, length] = parts
  const authority = flag?.tag === TAG.boolean && flag.value[0] === 0xff
  if (length === undefined) return { authority, pathLength: undefined }
  const [pathLength = -1, ...more] = length.value
  // With the top bit set it would be negative, which is invalid and must not be taken for a large number.
  if (length.tag !== TAG.integer || pathLength < 0 || pathLength > 0x7f || more.length > 0) return undefined
  return { authority, pathLength }
}
