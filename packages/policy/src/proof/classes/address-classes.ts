// SPDX-License-Identifier: Apache-2.0
// The classes of addresses that a list of CIDR blocks distinguishes: the intervals between their borders, for IPv4 and
// IPv6.

import { type Cidr, type IpAddress, parseIp } from "../../request/ip.js"

export interface AddressClass {
  readonly matched: readonly number[]
  readonly address: string
}

const BITS = { 4: 32n, 6: 128n } as const

export function addressClasses(blocks: readonly Cidr[], preferred: readonly string[]): readonly AddressClass[] {
  const classes = new Map<string, AddressClass>()
  const ranges = blocks.map(rangeOf)
  const file = (family: 4 | 6, value: bigint, address: string): void => {
    const matched: number[] = []
    for (const [index, range] of ranges.entries()) if (holds(range, family, value)) matched.push(index)
    const key = matched.join()
    if (!classes.has(key)) classes.set(key, { matched, address })
  }
  for (const text of preferred) {
    const address = parseIp(text)
    if (address !== undefined) file(address.family, numberOf(address), text)
  }
  for (const family of [4, 6] as const) {
    for (const value of borders(ranges, family)) {
      // The address must belong to this family: a mapped address is parsed as one of the other family.
      const address = spelled(family, value)
      if (parseIp(address)?.family === family) file(family, value, address)
    }
  }
  return [...classes.values()]
}

export function isWithin(text: string, block: Cidr): boolean {
  const address = parseIp(text)
  return address !== undefined && holds(rangeOf(block), address.family, numberOf(address))
}

interface Range {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

/** The first address of every interval. */
function borders(ranges: readonly Range[], family: 4 | 6): ReadonlySet<bigint> {
  // `::` is not a peer's address, and `::ffff:0:0/96` belongs to the other family, so intervals start after them.
  const starts = new Set([0n, 1n, ...(family === 6 ? [MAPPED, MAPPED + (1n << 32n)] : [])])
  for (const range of ranges) {
    if (range.family !== family) continue
    starts.add(range.first)
    if (range.last + 1n < 1n << BITS[family]) starts.add(range.last + 1n)
  }
  return starts
}

const MAPPED = 0xffffn << 32n

function holds({ family: own, first, last }: Range, family: 4 | 6, value: bigint): boolean {
  return own === family && value >= first && value <= last
}

function rangeOf({ address, bits }: Cidr): Range {
  const free = BITS[address.family] - BigInt(bits)
  const first = (numberOf(address) >> free) << free
  return { family: address.family, first, last: first + (1n << free) - 1n }
}

function numberOf({ words }: IpAddress): bigint {
  return words.reduce((value, word) => (value << 32n) | BigInt(word), 0n)
}

function spelled(family: 4 | 6, value: bigint): string {
  const part = (index: number, bits: bigint) => (value >> (BigInt(index) * bits)) & ((1n << bits) - 1n)
  if (family === 4) return [3, 2, 1, 0].map(index => String(part(index, 8n))).join(".")
  return [7, 6, 5, 4, 3, 2, 1, 0].map(index => part(index, 16n).toString(16)).join(":")
}
