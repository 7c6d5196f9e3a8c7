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

// Hashing a whole token costs more than everything else here, so the map's keys are the last characters, which are the
// end of the signature: 72 bits that no two honest tokens share, and short enough for V8 to copy and hash at once.
// INVARIANT: the whole text is compared before an entry is used; two tokens with the same tail only replace each other.
// An attacker learns nothing from the time of the comparison: to get that far, the attacker must know those 72 bits.
const TAIL = 12

// For the text, its parsed claims and the values that rules see. Measured: claims with many short members need as much,
// others less.
const BYTES_PER_ENTRY = 1024
const BYTES_PER_CHARACTER = 6
// In addition to its characters: an object without a prototype is a table of its own, however few members it has.
const BYTES_PER_OBJECT = 256
const BYTES_PER_LIST = 32

export class TokenMemory {
  readonly #limits: MemoryLimits
  /** Created for the first entry: the cache takes half a megabyte, and many proxies never see a token. */
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

  /** Only for a reading whose signature some key set has verified. */
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

/** INVARIANT: claims are no deeper than the parser allows. */
function bytesOfStructure(claims: readonly Claim[]): number {
  let bytes = 0
  for (const claim of claims) {
    if (typeof claim !== "object" || claim === null) continue
    if (isList(claim)) bytes += BYTES_PER_LIST + bytesOfStructure(claim)
    else bytes += BYTES_PER_OBJECT + bytesOfStructure(Object.values(claim))
  }
  return bytes
}

/** `Array.isArray` does not narrow read-only lists. */
function isList(claim: Claim): claim is readonly Claim[] {
  return Array.isArray(claim)
}
