// SPDX-License-Identifier: Apache-2.0
// Caches tokens whose signature was valid for some key set, so that it is checked once and not per request. Bounded in
// number and bytes; the least recently used entry is evicted. A text that no key set signed is never cached: an attacker
// could send any number of those. Callers check issuer, time and audience again on every use (see `evaluate.ts`).

import { LRUCache } from "lru-cache"
import type { Claim } from "../request/attributes.js"
import type { TokenReading } from "./reading.js"

export interface MemoryLimits {
  readonly entries: number
  readonly bytes: number
}

const DEFAULT_LIMITS: MemoryLimits = { entries: 20_000, bytes: 64 * 1024 * 1024 }

// Hashing a whole token costs more than everything else on the way, so the map goes by the last characters, which are
// the end of the signature: 72 bits that no two honest tokens share, and short enough for V8 to copy and hash at once.
// INVARIANT: the whole text is compared before an entry is believed; two tokens with one tail displace each other and
// nothing worse. The comparison tells a stranger nothing: he would have to know those 72 bits to get so far.
const TAIL = 12

// The text, its parsed claims and what rules see in them; by measurement as much for claims of many short members, and
// less for others.
const BYTES_PER_ENTRY = 1024
const BYTES_PER_CHARACTER = 6
// Beside their characters: an object without a prototype is a table of its own, however little there is in it.
const BYTES_PER_OBJECT = 256
const BYTES_PER_LIST = 32

export class TokenMemory {
  readonly #limits: MemoryLimits
  /** Made when the first is kept: room for all of them is half a megabyte, and many a proxy never sees a token. */
  #readings: LRUCache<string, TokenReading> | undefined
  /** Lookups that found the token and those that did not, for metrics. */
  hits = 0
  misses = 0

  constructor({ entries, bytes }: Partial<MemoryLimits> = {}) {
    this.#limits = { entries: entries ?? DEFAULT_LIMITS.entries, bytes: bytes ?? DEFAULT_LIMITS.bytes }
  }

  get size(): number {
    return this.#readings?.size ?? 0
  }

  recall(text: string): TokenReading | undefined {
    const reading = this.#readings?.get(text.slice(-TAIL))
    if (reading === undefined || reading.text !== text) {
      this.misses++
      return undefined
    }
    this.hits++
    return reading
  }

  /** Only for a reading that some key set has signed. */
  remember(reading: TokenReading): void {
    this.#readings ??= roomFor(this.#limits)
    this.#readings.set(reading.text.slice(-TAIL), reading)
  }

  /** For an expired token, which no rule will accept again. */
  forget(reading: TokenReading): void {
    this.#readings?.delete(reading.text.slice(-TAIL))
  }

  clear(): void {
    this.#readings?.clear()
  }
}

function roomFor({ entries, bytes }: MemoryLimits): LRUCache<string, TokenReading> {
  return new LRUCache({
    max: entries,
    maxSize: bytes,
    sizeCalculation: ({ text, token }) =>
      BYTES_PER_ENTRY + BYTES_PER_CHARACTER * text.length + bytesOfStructure(Object.values(token.claims)),
  })
}

/** INVARIANT: no deeper than what the parser lets in. */
function bytesOfStructure(claims: readonly Claim[]): number {
  let bytes = 0
  for (const claim of claims) {
    if (typeof claim !== "object" || claim === null) continue
    if (isList(claim)) bytes += BYTES_PER_LIST + bytesOfStructure(claim)
    else bytes += BYTES_PER_OBJECT + bytesOfStructure(Object.values(claim))
  }
  return bytes
}

/** `Array.isArray` does not tell read-only lists from the rest. */
function isList(claim: Claim): claim is readonly Claim[] {
  return Array.isArray(claim)
}
