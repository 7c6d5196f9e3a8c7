// SPDX-License-Identifier: Apache-2.0
// The issuers whose keys are fetched, for metrics.

import { keySetId, type MeshNames, validate } from "@merlon/policy"
import type { KeySets } from "../keysets/key-sets.js"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { IssuerKeys } from "../observe/metrics.js"

export function* issuersOf(
  documents: Reflected<KubernetesObject>,
  keySets: KeySets,
  names: MeshNames,
): Iterable<IssuerKeys> {
  for (const object of documents.items.values()) {
    const { document } = validate(object, names)
    if (document?.kind !== "RequestAuthentication") continue
    for (const rule of document.spec.jwtRules ?? []) {
      const state = rule.jwks === undefined ? keySets.get(keySetId(rule)) : undefined
      if (state === undefined) continue
      const { fetchedAt, error } = state
      yield { issuer: rule.issuer ?? rule.jwksUri ?? "", fetchedAt, failing: error !== undefined }
    }
  }
}
