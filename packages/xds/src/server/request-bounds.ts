// SPDX-License-Identifier: Apache-2.0
// Limits on requests of both variants of xDS, checked before any part of them is kept.

import type { StreamLimits } from "./limits.js"
import { exhausted, invalid, type StreamError } from "./stream-error.js"

export function checkTypeUrl(typeUrl: string, { nameLength }: StreamLimits): StreamError | undefined {
  if (typeUrl === "") return invalid("`type_url` is missing; an aggregated stream needs it in every request")
  if (typeUrl.length > nameLength) return invalid(`\`type_url\` has more than ${nameLength} characters`)
  return undefined
}

export function checkTotal(sizes: Iterable<number>, { namesPerStream }: StreamLimits): StreamError | undefined {
  let total = 0
  for (const size of sizes) total += size
  return total > namesPerStream ? exhausted(`at most ${namesPerStream} names on a stream`) : undefined
}

/** What a name costs besides its characters: the session, the subscriber and unacknowledged responses keep it. */
const PER_NAME = 200

/** An upper bound of the bytes in memory: a character may take two. */
export function bytesOf(names: Iterable<string>): number {
  let bytes = 0
  for (const name of names) bytes += 2 * name.length + PER_NAME
  return bytes
}

export function checkNames(
  names: readonly string[],
  { namesPerType, nameLength }: StreamLimits,
): StreamError | undefined {
  // Names to add, names to drop, and known versions with their names: at most four times the limit is useful.
  if (names.length > 4 * namesPerType) return exhausted(`at most ${namesPerType} names of a type`)
  if (names.some(name => name.length > nameLength)) return invalid(`a name has more than ${nameLength} characters`)
  return undefined
}
