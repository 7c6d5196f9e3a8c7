// SPDX-License-Identifier: Apache-2.0
// The lists in the ConfigMap of revocations, as text by key. Keys under `binaryData` are included, so that they are
// reported as unreadable instead of being ignored.

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
