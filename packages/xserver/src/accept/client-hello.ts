// SPDX-License-Identifier: Apache-2.0
// Reads the ClientHello at the start of a TLS connection far enough to tell the mesh's TLS from the application's: the
// server name, the ALPN list, and whether TLS 1.3 is offered. It is strict and bounded, and decides nothing. A misread
// hello can only be forwarded without an identity, because OpenSSL does the handshake itself.

/** Current hellos need less than 2 KiB, with post-quantum key shares. */
export const MAX_CLIENT_HELLO = 16 * 1024

export type ClientHelloResult =
  | {
      readonly kind: "hello"
      readonly serverName: string | undefined
      readonly alpn: readonly string[]
      readonly offersTls13: boolean
    }
  /** It may still become a hello; call again once there are `bytes` bytes in total. */
  | { readonly kind: "more"; readonly bytes: number }
  | { readonly kind: "too-long" }
  | { readonly kind: "not-a-hello" }

const NOT_A_HELLO: ClientHelloResult = { kind: "not-a-hello" }

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER = 5
const MAX_RECORD = 16_384
const SERVER_NAME_EXTENSION = 0
const ALPN_EXTENSION = 16
const VERSIONS_EXTENSION = 43
const TLS_13 = 0x0304

export function parseClientHello(bytes: Buffer): ClientHelloResult {
  // RFC 8446 section 5.1: a handshake message may be split over several records, so join them first.
  const fragments: Buffer[] = []
  let gathered = 0
  let at = 0
  for (;;) {
    const length = recordLength(bytes, at)
    if (length === "not-a-hello") return NOT_A_HELLO
    if (length === "more") return wanting(at + RECORD_HEADER)
    const start = at + RECORD_HEADER
    const fragment = bytes.subarray(start, start + length)
    fragments.push(fragment)
    gathered += fragment.length
    const message = fragments.length === 1 ? fragment : Buffer.concat(fragments, gathered)
    if (message.length > 0 && message[0] !== CLIENT_HELLO) return NOT_A_HELLO
    const size = message.length < 4 ? undefined : 4 + message.readUIntBE(1, 3)
    if (size !== undefined && size > MAX_CLIENT_HELLO) return { kind: "too-long" }
    if (size !== undefined && message.length >= size) {
      // RFC 8446 section 4.1.2: nothing may follow the first hello before the server has responded.
      return message.length === size ? parseBody(new Reader(message.subarray(4))) : NOT_A_HELLO
    }
    if (bytes.length < start + length) return wanting(start + length)
    at = start + length
  }
}

function wanting(bytes: number): ClientHelloResult {
  return bytes > MAX_CLIENT_HELLO + RECORD_HEADER ? { kind: "too-long" } : { kind: "more", bytes }
}

function recordLength(bytes: Buffer, at: number): number | "more" | "not-a-hello" {
  const [type, major, minor] = bytes.subarray(at, at + 3)
  if (type !== undefined && type !== HANDSHAKE_RECORD) return "not-a-hello"
  if (major !== undefined && major !== 3) return "not-a-hello"
  if (minor !== undefined && minor > 4) return "not-a-hello"
  if (bytes.length < at + RECORD_HEADER) return "more"
  const length = bytes.readUInt16BE(at + 3)
  // RFC 8446 section 5.1: handshake fragments are never empty. A sender of empty ones could keep us busy forever.
  return length === 0 || length > MAX_RECORD ? "not-a-hello" : length
}

// RFC 8446 section 4.1.2. Every length must add up: bytes that are left over make the hello invalid.
function parseBody(body: Reader): ClientHelloResult {
  const version = body.take(2)
  body.take(32)
  const session = body.vector(1)
  const ciphers = body.vector(2)
  const compression = body.vector(1)
  if (body.failed || version[0] !== 3 || session.length > 32) return NOT_A_HELLO
  if (ciphers.length < 2 || ciphers.length % 2 !== 0 || compression.length === 0) return NOT_A_HELLO
  if (body.done) return { kind: "hello", serverName: undefined, alpn: [], offersTls13: false }

  const extensions = new Reader(body.vector(2))
  if (body.failed || !body.done) return NOT_A_HELLO
  const seen = new Set<number>()
  let serverName: string | undefined
  let alpn: readonly string[] | undefined = []
  let offersTls13 = false
  while (!extensions.done) {
    const type = extensions.number(2)
    const value = extensions.vector(2)
    // RFC 8446 section 4.2: an extension must not occur twice, or two readers might use different ones.
    if (extensions.failed || seen.has(type)) return NOT_A_HELLO
    seen.add(type)
    if (type === SERVER_NAME_EXTENSION) {
      serverName = parseServerName(value)
      if (serverName === undefined) return NOT_A_HELLO
    } else if (type === ALPN_EXTENSION) {
      alpn = parseAlpn(value)
      if (alpn === undefined) return NOT_A_HELLO
    } else if (type === VERSIONS_EXTENSION) offersTls13 = namesTls13(value)
  }
  return { kind: "hello", serverName, alpn, offersTls13 }
}

// RFC 6066 section 3: a list that holds a single host name.
function parseServerName(value: Buffer): string | undefined {
  const outer = new Reader(value)
  const list = new Reader(outer.vector(2))
  const type = list.number(1)
  const name = list.vector(2)
  if (outer.failed || !outer.done || list.failed || !list.done) return undefined
  if (type !== 0 || name.length === 0 || name.length > 255) return undefined
  const text = name.toString("latin1")
  return /^[\x21-\x7e]+$/.test(text) ? text : undefined
}

// RFC 7301 section 3.1: at least one name, each of 1 to 255 bytes.
function parseAlpn(value: Buffer): readonly string[] | undefined {
  const outer = new Reader(value)
  const list = new Reader(outer.vector(2))
  if (outer.failed || !outer.done || list.done) return undefined
  const names: string[] = []
  while (!list.done) {
    const name = list.vector(1)
    if (list.failed || name.length === 0) return undefined
    names.push(name.toString("latin1"))
  }
  return names
}

// RFC 8446 section 4.2.1: a list of two-byte versions.
function namesTls13(value: Buffer): boolean {
  const list = new Reader(new Reader(value).vector(1))
  while (!list.done) if (list.number(2) === TLS_13) return true
  return false
}

/** Reads forward. A read beyond the end sets `failed` for good and returns nothing. */
class Reader {
  readonly #bytes: Buffer
  #at = 0
  failed = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get done(): boolean {
    return this.failed || this.#at === this.#bytes.length
  }

  take(count: number): Buffer {
    if (this.failed || this.#at + count > this.#bytes.length) {
      this.failed = true
      return Buffer.alloc(0)
    }
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  number(bytes: number): number {
    const taken = this.take(bytes)
    return taken.length === 0 ? 0 : taken.readUIntBE(0, bytes)
  }

  /** A value that is prefixed with its length, in `lengthBytes` bytes. */
  vector(lengthBytes: number): Buffer {
    return this.take(this.number(lengthBytes))
  }
}
