// SPDX-License-Identifier: Apache-2.0
// The classes of addresses that a list of blocks tells apart: the intervals between their borders, in both families.

import { type Cidr, type IpAddress, parseIp } from "../../request/ip.js"

export interface AddressClass {
  readonly matched: readonly number[]
  readonly address: string
}

const BITS = { 4: 32n, 6: 128n } as const

export function addressClasses(blocks: readonly Cidr[], preferred: readonly string[]): readonly AddressClass[] {
  const classes = new Map<string, AddressClass>()
  const file = (family: 4 | 6, value: bigint, address: string): void => {
    const matched = blocks.flatMap((block, index) => (holds(block, family, value) ? [index] : []))
    const key = matched.join()
    if (!classes.has(key)) classes.set(key, { matched, address })
  }
  for (const text of preferred) {
    const address = parseIp(text)
    if (address !== undefined) file(address.family, numberOf(address), text)
  }
  for (const family of [4, 6] as const) {
    for (const value of borders(blocks, family)) {
      // An address of the family's own spelling: a mapped one would be of the other family.
      const address = spelled(family, value)
      if (parseIp(address)?.family === family) file(family, value, address)
    }
  }
  return [...classes.values()]
}

/** The first address of every interval. */
function borders(blocks: readonly Cidr[], family: 4 | 6): ReadonlySet<bigint> {
  // `::` is no peer's address, `::ffff:0:0/96` is the other family: step over them to where intervals go on.
  const starts = new Set([0n, 1n, ...(family === 6 ? [MAPPED, MAPPED + (1n << 32n)] : [])])
  for (const block of blocks) {
    if (block.address.family !== family) continue
    const [first, last] = rangeOf(block)
    starts.add(first)
    if (last + 1n < 1n << BITS[family]) starts.add(last + 1n)
  }
  return starts
}

const MAPPED = 0xffffn << 32n

function holds(block: Cidr, family: 4 | 6, value: bigint): boolean {
  if (block.address.family !== family) return false
  const [first, last] = rangeOf(block)
  return value >= first && value <= last
}

function rangeOf({ address, bits }: Cidr): readonly [bigint, bigint] {
  const free = BITS[address.family] - BigInt(bits)
  const first = (numberOf(address) >> free) << free
  return [first, first + (1n << free) - 1n]
}

function numberOf({ words }: IpAddress): bigint {
  return words.reduce((value, word) => (value << 32n) | BigInt(word), 0n)
}

function spelled(family: 4 | 6, value: bigint): string {
  const part = (index: number, bits: bigint) => (value >> (BigInt(index) * bits)) & ((1n << bits) - 1n)
  if (family === 4) return [3, 2, 1, 0].map(index => String(part(index, 8n))).join(".")
  return [7, 6, 5, 4, 3, 2, 1, 0].map(index => part(index, 16n).toString(16)).join(":")
}
