// SPDX-License-Identifier: Apache-2.0
// The lists in the ConfigMap of revocations, as text by key. Keys under `binaryData` count as written, so that they are
// told to be unreadable instead of being overlooked.

import { isDeepStrictEqual } from "node:util"
import { objectOf } from "../registry/foreign.js"

export function revocationData(configMap: unknown): { readonly [key: string]: string } {
  const { data, binaryData } = objectOf(configMap)
  const texts = Object.entries(objectOf(data)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  )
  const binary = Object.keys(objectOf(binaryData)).map(key => [`binaryData.${key}`, ""] as const)
  return Object.fromEntries([...texts, ...binary])
}

export function revokesTheSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(revocationData(a), revocationData(b))
}
