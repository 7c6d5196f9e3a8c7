// SPDX-License-Identifier: Apache-2.0
// Addresses from which key sets are never fetched. The author of a policy chooses a URL that the control plane then
// requests. Link-local and metadata services hand out the machine's credentials, so they are never requested. Loopback
// has the control plane's own ports and other services that trust the machine: it is only requested if the mesh allows
// it, as a local mesh does. Private ranges are allowed by default, because issuers inside a cluster use them.

import { type Cidr, type IpAddress, parseCidr, parseIp } from "@merlon/policy/request"

export interface AddressRules {
  /** Also rejects private and shared ranges. */
  readonly denyPrivateAddresses?: boolean
  readonly allowLoopback?: boolean
}

interface Block {
  readonly cidr: Cidr
  readonly what: string
}

const ALWAYS = blocks({
  "the metadata service of a cloud": [
    "169.254.169.254",
    "169.254.170.2",
    "fd00:ec2::254",
    "fd20:ce::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
  ],
  "a link-local address": ["169.254.0.0/16", "fe80::/10"],
  "an unspecified address": ["0.0.0.0/8", "::/128"],
  "a multicast address": ["224.0.0.0/4", "ff00::/8"],
  "a broadcast or reserved address": ["240.0.0.0/4"],
})

const LOOPBACK = blocks({ "a loopback address": ["127.0.0.0/8", "::1/128"] })

const PRIVATE = blocks({
  "a private address": [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "192.0.0.0/24",
    "198.18.0.0/15",
    "fc00::/7",
    "fec0::/10",
  ],
})

/** Returns the kind of a forbidden address, or undefined if it may be requested. */
export function forbiddenAddress(
  text: string,
  { denyPrivateAddresses = false, allowLoopback = false }: AddressRules = {},
): string | undefined {
  const address = parseIp(text)
  // Fails closed: an address that we cannot parse is not requested (one with a zone is link-local).
  if (address === undefined) return "not a valid address"
  const rejected = [...ALWAYS, ...(allowLoopback ? [] : LOOPBACK), ...(denyPrivateAddresses ? PRIVATE : [])]
  for (const candidate of [address, ...carried(address)]) {
    const hit = rejected.find(({ cidr }) => contains(cidr, candidate))
    if (hit !== undefined) return hit.what
  }
  return undefined
}

/** IPv4 addresses that a gateway extracts from an IPv6 one: compatible, NAT64 (RFC 6052), 6to4 (RFC 3056). */
function carried({ family, words: [first, second, third, fourth] }: IpAddress): IpAddress[] {
  if (family === 4) return []
  const v4 = (word: number): IpAddress => ({ family: 4, words: [0, 0, 0, word >>> 0], text: "" })
  // `::1` is the loopback address and not part of the compatible range.
  if (first === 0 && second === 0 && third === 0) return fourth === 1 ? [] : [v4(fourth)]
  if (first === 0x64ff9b && second === 0 && third === 0) return [v4(fourth)]
  if (first >>> 16 === 0x2002) return [v4(((first & 0xffff) << 16) | (second >>> 16))]
  return []
}

function contains({ address, bits }: Cidr, { family, words }: IpAddress): boolean {
  if (address.family !== family) return false
  const length = family === 4 ? bits + 96 : bits
  return address.words.every((word, index) => {
    const kept = Math.min(32, Math.max(0, length - 32 * index))
    const mask = kept === 0 ? 0 : -1 << (32 - kept)
    return (word & mask) === ((words[index] ?? 0) & mask)
  })
}

function blocks(byKind: { readonly [what: string]: readonly string[] }): readonly Block[] {
  return Object.entries(byKind).flatMap(([what, texts]) =>
    texts.map(text => {
      const cidr = parseCidr(text)
      if (cidr === undefined) throw new RangeError(`\`${text}\` is not a CIDR block`)
      return { cidr, what }
    }),
  )
}
