// SPDX-License-Identifier: Apache-2.0
// CIDR blocks by prefix length: a lookup is one hash probe per distinct length, however many blocks there are.

import { type Cidr, type IpAddress, maskedWord } from "./ip.js"

interface Level<V> {
  readonly bits: number
  readonly blocks: Map<number | string, V>
}

export class CidrIndex<V> {
  readonly #v4: Level<V>[] = []
  readonly #v6: Level<V>[] = []

  /** The value stored for exactly this block, created on first use. */
  entry({ address, bits }: Cidr, create: () => V): V {
    const levels = address.family === 4 ? this.#v4 : this.#v6
    let level = levels.find(candidate => candidate.bits === bits)
    if (level === undefined) {
      level = { bits, blocks: new Map() }
      levels.push(level)
    }
    const key = blockKey(address, bits)
    const existing = level.blocks.get(key)
    if (existing !== undefined) return existing
    const created = create()
    level.blocks.set(key, created)
    return created
  }

  /** Visits the value of every block that contains the address until one visit returns true. */
  some(address: IpAddress, visit: (value: V) => boolean): boolean {
    for (const level of address.family === 4 ? this.#v4 : this.#v6) {
      const value = level.blocks.get(blockKey(address, level.bits))
      if (value !== undefined && visit(value)) return true
    }
    return false
  }
}

function blockKey({ family, words }: IpAddress, bits: number): number | string {
  if (family === 4) return maskedWord(words[3], bits)
  const [a, b, c, d] = words
  return `${maskedWord(a, bits)},${maskedWord(b, bits - 32)},${maskedWord(c, bits - 64)},${maskedWord(d, bits - 96)}`
}
