// SPDX-License-Identifier: Apache-2.0
// IP addresses and CIDR blocks as four 32-bit words. An IPv4-mapped IPv6 address is the IPv4 address it contains, so
// that a dual-stack listener cannot be used to bypass an IPv4 block.

export interface IpAddress {
  readonly family: 4 | 6
  /** Most significant first; IPv4 uses the last word only. */
  readonly words: readonly [number, number, number, number]
  readonly text: string
}

export interface Cidr {
  readonly address: IpAddress
  /** Prefix length in the address's own family. */
  readonly bits: number
}

export function parseIp(text: string): IpAddress | undefined {
  if (text.length > 45) return undefined
  const v4 = parseIpv4(text)
  if (v4 !== undefined) return { family: 4, words: [0, 0, 0, v4], text }
  return text.includes(":") ? parseIpv6(text) : undefined
}

/**
 * A block, or a single address as the block that contains only it. Host bits are ignored, as in Go's `net.ParseCIDR`.
 */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/")
  if (slash < 0) {
    const address = parseIp(text)
    return address && { address, bits: address.family === 4 ? 32 : 128 }
  }
  const address = parseIp(text.slice(0, slash))
  const length = text.slice(slash + 1)
  if (address === undefined || !/^(0|[1-9][0-9]{0,2})$/.test(length)) return undefined
  const written = Number(length)
  const mapped = address.family === 4 && text.includes(":")
  const bits = mapped ? written - 96 : written
  // A prefix that ends inside ::ffff:0:0/96 covers both families; no author means that, so it is not a block.
  if (bits < 0 || bits > (address.family === 4 ? 32 : 128)) return undefined
  return { address, bits }
}

/** Whether `outer` contains every address of `inner`. */
export function cidrCovers(outer: Cidr, inner: Cidr): boolean {
  if (outer.address.family !== inner.address.family || outer.bits > inner.bits) return false
  const bits = outer.address.family === 4 ? outer.bits + 96 : outer.bits
  return outer.address.words.every(
    (word, index) =>
      maskedWord(word, bits - 32 * index) === maskedWord(inner.address.words[index] ?? 0, bits - 32 * index),
  )
}

/** The word with all but its first bits cleared. */
export function maskedWord(word: number, bits: number): number {
  if (bits <= 0) return 0
  return bits >= 32 ? word : (word & (-1 << (32 - bits))) >>> 0
}

function parseIpv4(text: string): number | undefined {
  // A leading zero is rejected: some parsers read it as octal, and a policy must have one meaning.
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(text)
  if (match === null) return undefined
  let value = 0
  for (const part of match.slice(1)) {
    const octet = Number(part)
    if (octet > 255) return undefined
    value = value * 256 + octet
  }
  return value
}

// RFC 4291 section 2.2, without a zone: a zone names an interface, which has no meaning in a policy.
function parseIpv6(text: string): IpAddress | undefined {
  let body = text
  const tail: number[] = []
  if (body.includes(".")) {
    const colon = body.lastIndexOf(":")
    const v4 = parseIpv4(body.slice(colon + 1))
    if (v4 === undefined) return undefined
    tail.push(v4 >>> 16, v4 & 0xffff)
    body = body.slice(0, colon + 1)
    // `::1.2.3.4` leaves `::`, `1::2:1.2.3.4` leaves `1::2:`; the single colon between the parts is removed.
    if (!body.endsWith("::")) body = body.slice(0, -1)
  }
  const halves = body.split("::")
  if (halves.length > 2) return undefined
  const left = groups(halves[0] ?? "")
  const right = halves.length === 2 ? groups(halves[1] ?? "") : []
  if (left === undefined || right === undefined) return undefined
  const missing = 8 - left.length - right.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const all = [...left, ...new Array<number>(missing).fill(0), ...right, ...tail]
  const word = (index: number): number => (((all[index] ?? 0) << 16) | (all[index + 1] ?? 0)) >>> 0
  const words = [word(0), word(2), word(4), word(6)] as const
  if (words[0] === 0 && words[1] === 0 && words[2] === 0xffff) return { family: 4, words: [0, 0, 0, words[3]], text }
  return { family: 6, words, text }
}

function groups(text: string): number[] | undefined {
  if (text === "") return []
  const parsed: number[] = []
  for (const group of text.split(":")) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined
    parsed.push(Number.parseInt(group, 16))
  }
  return parsed
}
