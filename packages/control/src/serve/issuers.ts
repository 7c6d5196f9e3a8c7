// SPDX-License-Identifier: Apache-2.0
// The issuers whose keys are fetched, for metrics. The metrics port is public, so this computes nothing expensive and
// only reports what the key sets already know.

import type { FetchedKeySets } from "../keysets/key-set-store.js"
import type { IssuerKeys } from "../observe/metrics.js"

export function* issuersOf(keySets: Pick<FetchedKeySets, "needed" | "get">): Iterable<IssuerKeys> {
  for (const id of keySets.needed ?? []) {
    const state = keySets.get(id)
    if (state === undefined) continue
    yield { issuer: issuerOf(id), fetchedAt: state.fetchedAt, failing: state.error !== undefined }
  }
}

/** The issuer, or the address of the keys, from an id made by `keySetId`. */
export function issuerOf(keySetId: string): string {
  const [issuer, jwksUri]: readonly string[] = JSON.parse(keySetId)
  return issuer || jwksUri || ""
}
