// SPDX-License-Identifier: Apache-2.0
// Records in LevelDB: the checksum of key and text, then the text. LevelDB verifies tables only when it compacts them,
// and silently drops unreadable parts of its log, so the store verifies each record itself.

import { crc32 } from "node:zlib"
import { Entry } from "../store.js"

const CHECKSUM_LENGTH = 8

/** The number of objects and the sum of their checksums. A lost or reverted object changes the sum. */
export interface Tally {
  readonly objects: number
  readonly sum: number
}

export const NO_OBJECTS: Tally = { objects: 0, sum: 0 }

export const checksum = (key: string, text: string): number => crc32(text, crc32(`${key}\0`))

export const seal = (key: string, text: string): string =>
  `${checksum(key, text).toString(16).padStart(CHECKSUM_LENGTH, "0")} ${text}`

/** Returns undefined if `seal` did not write the record under this key. */
export function unseal(key: string, record: string): string | undefined {
  const text = record.slice(CHECKSUM_LENGTH + 1)
  return seal(key, text) === record ? text : undefined
}

export const objectKey = (key: string): string => `k${key}`

export const objectText = ({ createRevision, modRevision, value }: Entry): string =>
  `${createRevision} ${modRevision} ${value}`

export function readObject(key: string, text: string): Entry {
  const [create, mod] = text.split(" ", 2).map(Number)
  return new Entry(key.slice(1), text.slice(text.indexOf("{")), create ?? 0, mod ?? 0)
}

export function replaced(tally: Tally, before: Entry | undefined, after: Entry | undefined): Tally {
  const [less, more] = [before, after].map(entry =>
    entry === undefined ? 0 : checksum(objectKey(entry.key), objectText(entry)),
  )
  return {
    objects: tally.objects + (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1),
    // Fewer than 2^21 objects fit in memory, so the sum of their 32-bit checksums stays a safe integer.
    sum: tally.sum + (more ?? 0) - (less ?? 0),
  }
}
