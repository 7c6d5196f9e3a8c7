// SPDX-License-Identifier: Apache-2.0
// The alternative names of a certificate, read from its DER and not from a printed form: in the printed form one name
// can be written so that it looks like two (CVE-2021-44532). Strict: a certificate that breaks the encoding rules of
// what is read here has no names.

export interface SubjectAltNames {
  readonly uris: readonly string[]
  readonly dns: readonly string[]
}

const SEQUENCE = 0x30
const OBJECT_IDENTIFIER = 0x06
const BOOLEAN = 0x01
const OCTET_STRING = 0x04
/** RFC 5280 section 4.1: extensions stand under the explicit tag 3 of the part that is signed. */
const EXTENSIONS = 0xa3
/** RFC 5280 section 4.2.1.6: implicit tags of GeneralName. */
const DNS_NAME = 0x82
const URI = 0x86
/** 2.5.29.17 */
const SUBJECT_ALT_NAME = Buffer.from([0x55, 0x1d, 0x11])

/** Undefined where the certificate cannot be read; empty lists where it has no alternative names. */
export function subjectAltNames(certificate: Buffer): SubjectAltNames | undefined {
  try {
    const whole = only(elements(certificate), SEQUENCE)
    const signed = elements(whole)[0]
    if (signed?.tag !== SEQUENCE) return undefined
    const extensions = elements(signed.value).filter(({ tag }) => tag === EXTENSIONS)
    if (extensions.length === 0) return { uris: [], dns: [] }
    const list = elements(only(elements(only(extensions, EXTENSIONS)), SEQUENCE))
    const named = list.map(extensionValue).filter(value => value !== undefined)
    // RFC 5280 section 4.2: no extension twice. Two readers might otherwise believe different ones.
    if (named.length > 1) return undefined
    return named[0] === undefined ? { uris: [], dns: [] } : namesIn(named[0])
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

class DerError extends Error {}

interface Element {
  readonly tag: number
  readonly value: Buffer
}

function namesIn(extension: Buffer): SubjectAltNames {
  const uris: string[] = []
  const dns: string[] = []
  for (const { tag, value } of elements(only(elements(extension), SEQUENCE))) {
    if (tag === URI) uris.push(printable(value))
    else if (tag === DNS_NAME) dns.push(printable(value))
  }
  return { uris, dns }
}

/** The content of the extension where it is the alternative name. */
function extensionValue({ tag, value }: Element): Buffer | undefined {
  if (tag !== SEQUENCE) throw new DerError()
  const parts = elements(value)
  const [id, second] = parts
  if (id?.tag !== OBJECT_IDENTIFIER) throw new DerError()
  const rest = second?.tag === BOOLEAN ? parts.slice(2) : parts.slice(1)
  const content = only(rest, OCTET_STRING)
  return id.value.equals(SUBJECT_ALT_NAME) ? content : undefined
}

function only(list: readonly Element[], tag: number): Buffer {
  const [first] = list
  if (list.length !== 1 || first?.tag !== tag) throw new DerError()
  return first.value
}

/** All elements of the content; definite and shortest lengths only, as DER wants (X.690 section 10.1). */
function elements(content: Buffer): readonly Element[] {
  const found: Element[] = []
  let at = 0
  while (at < content.length) {
    const tag = content[at] ?? 0
    // Tags beyond 30 do not occur where we read.
    if ((tag & 0x1f) === 0x1f) throw new DerError()
    let length = content[at + 1]
    let start = at + 2
    if (length === undefined) throw new DerError()
    if (length >= 0x80) {
      const count = length & 0x7f
      if (count === 0 || count > 3 || start + count > content.length) throw new DerError()
      length = content.readUIntBE(start, count)
      start += count
      if (length < 0x80 || length < 2 ** (8 * (count - 1))) throw new DerError()
    }
    if (start + length > content.length) throw new DerError()
    found.push({ tag, value: content.subarray(start, start + length) })
    at = start + length
  }
  return found
}

// IA5String, and of that what prints: a name with a NUL, a line break or a letter beyond ASCII is an attempt at something.
function printable(value: Buffer): string {
  const text = value.toString("latin1")
  if (!/^[\x20-\x7e]*$/.test(text)) throw new DerError()
  return text
}
