// SPDX-License-Identifier: Apache-2.0
// Creates or replaces a policy, or does a dry run of that. It replaces only the version that was read, so that a concurrent
// change by another user is noticed. Status updates of the control plane do not count as such a change.

import { ApiError, api, apiWithWarnings, type Names } from "../../api/client.js"
import { kindNamed, pathOf } from "../../api/kinds.js"
import { type Metadata, type Policy, versionOf } from "../../api/objects.js"

export interface Saved {
  readonly value: Policy
  readonly warnings: readonly string[]
}

export async function save(names: Names, policy: Policy, stored: Policy | undefined, dryRun: boolean): Promise<Saved> {
  const entry = kindNamed(policy.kind)
  if (entry === undefined) throw new Error(`\`${policy.kind}\` is not a kind that the console edits`)
  const { namespace = "default", name } = policy.metadata
  const query = `?fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`
  if (!isSame(stored, policy.kind, namespace, name)) {
    return apiWithWarnings(`${pathOf(names, entry, namespace)}${query}`, { method: "POST", body: policy })
  }
  const path = pathOf(names, entry, namespace, name)
  const put = ({ resourceVersion = "" }: Metadata): Promise<Saved> => {
    const body = { ...policy, metadata: { ...policy.metadata, resourceVersion } }
    return apiWithWarnings(`${path}${query}`, { method: "PUT", body })
  }
  try {
    return await put(stored.metadata)
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error
    const { metadata } = await api<Policy>(path)
    if (versionOf(metadata) !== versionOf(stored.metadata)) throw error
    return put(metadata)
  }
}

function isSame(
  stored: Policy | undefined,
  kind: string | undefined,
  namespace: string,
  name: string,
): stored is Policy {
  if (stored === undefined || stored.kind !== kind) return false
  return stored.metadata.name === name && stored.metadata.namespace === namespace
}
