// SPDX-License-Identifier: Apache-2.0
// Stores a policy, or asks whether it could be: created where there was none, else put in the place of what was read, so
// that somebody else's change in between is noticed and not lost.

import { apiWithWarnings, type Names } from "../../api/client.js"
import { kindNamed, pathOf } from "../../api/kinds.js"
import type { Policy } from "../../api/objects.js"

export interface Saved {
  readonly value: Policy
  readonly warnings: readonly string[]
}

export async function save(names: Names, policy: Policy, stored: Policy | undefined, dryRun: boolean): Promise<Saved> {
  const entry = kindNamed(policy.kind)
  if (entry === undefined) throw new Error(`\`${policy.kind}\` is none of the kinds that are written here`)
  const { namespace = "default", name } = policy.metadata
  const query = `?fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`
  const replaces = stored !== undefined && stored.metadata.name === name && stored.metadata.namespace === namespace
  if (!replaces) {
    return apiWithWarnings(`${pathOf(names, entry, namespace)}${query}`, { method: "POST", body: policy })
  }
  const { resourceVersion = "" } = stored.metadata
  const body = { ...policy, metadata: { ...policy.metadata, resourceVersion } }
  return apiWithWarnings(`${pathOf(names, entry, namespace, name)}${query}`, { method: "PUT", body })
}
