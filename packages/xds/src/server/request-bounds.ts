// SPDX-License-Identifier: Apache-2.0
// The limits on requests of both variants of xDS, checked before anything of them is kept.

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

/** What a name costs beside its characters: it is kept in the session, by the subscriber, and with what was sent of it. */
const PER_NAME = 200

/** Bytes in memory, never too few: a character may take two. */
export function bytesOf(names: Iterable<string>): number {
  let bytes = 0
  for (const name of names) bytes += 2 * name.length + PER_NAME
  return bytes
}

export function checkNames(
  names: readonly string[],
  { namesPerType, nameLength }: StreamLimits,
): StreamError | undefined {
  // Names to add, names to drop and known versions with their names: four times the bound is the most that makes sense.
  if (names.length > 4 * namesPerType) return exhausted(`at most ${namesPerType} names of a type`)
  if (names.some(name => name.length > nameLength)) return invalid(`a name has more than ${nameLength} characters`)
  return undefined
}
