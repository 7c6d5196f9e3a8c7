// SPDX-License-Identifier: Apache-2.0
// The address that limits count by. A host with one IPv6 address usually controls its whole /64 subnet (RFC 4291
// section 2.5.4), so IPv6 addresses with the same first 64 bits count as one. IPv4-mapped IPv6 addresses
// (`::ffff:10.0.0.1`) count as IPv4.

import { isIPv4, isIPv6 } from "node:net"

export interface AddressWords {
  readonly family: 4 | 6
  /** Most significant first; IPv4 uses the last word only. */
  readonly words: readonly [number, number, number, number]
}

export function addressKey({ family, words }: AddressWords): string {
  return family === 4 ? `4 ${words[3]}` : `6 ${words[0]} ${words[1]}`
}

/** The key of a socket's `remoteAddress`; undefined once the socket has closed. */
export function remoteKey(remoteAddress: string | undefined): string | undefined {
  // RFC 4007 section 11: link-local addresses have a zone (the interface).
  const address = remoteAddress?.split("%")[0] ?? ""
  if (isIPv4(address)) return addressKey({ family: 4, words: [0, 0, 0, ipv4Word(address)] })
  return isIPv6(address) ? addressKey(ipv6Words(address)) : undefined
}

function ipv6Words(address: string): AddressWords {
  const [before = "", after = ""] = address.split("::")
  const [left, right] = [groupsOf(before), groupsOf(after)]
  const groups = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  const word = (index: number): number => (((groups[index] ?? 0) << 16) | (groups[index + 1] ?? 0)) >>> 0
  const words = [word(0), word(2), word(4), word(6)] as const
  const isIpv4 = words[0] === 0 && words[1] === 0 && words[2] === 0xffff
  return { family: isIpv4 ? 4 : 6, words }
}

/** The 16-bit groups; an IPv4 address at the end counts as two. */
function groupsOf(text: string): readonly number[] {
  if (text === "") return []
  return text.split(":").flatMap(group => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)]
    const word = ipv4Word(group)
    return [word >>> 16, word & 0xffff]
  })
}

function ipv4Word(address: string): number {
  return address.split(".").reduce((word, part) => ((word << 8) | Number(part)) >>> 0, 0)
}
