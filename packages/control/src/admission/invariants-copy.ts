// SPDX-License-Identifier: Apache-2.0
// Checks whether our copy of the invariants is up to date. It lags behind the API server for a moment, and a change
// must not be rejected because of an invariant that was just deleted or put into shadow mode.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, policyTypes } from "../kubernetes/resource-type.js"
import { type PolicySource, policyKey } from "../policies/stored-policy.js"

export interface InvariantsCopyOptions {
  readonly client: Pick<KubernetesClient, "list">
  readonly names: MeshNames
  readonly policies: PolicySource
  /** How long changes may take to reach us. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 2_000

/**
 * Resolves to true once an outdated copy has caught up; to false if it was up to date, or does not catch up in time.
 */
export async function caughtUp(options: InvariantsCopyOptions): Promise<boolean> {
  const { client, names, policies, patienceMs = PATIENCE_MS } = options
  // If the API does not answer, the rejection stands, with its reason.
  const items = await client.list<KubernetesObject>(policyTypes(names).PolicyInvariant).then(
    list => list.items,
    () => undefined,
  )
  if (items === undefined) return false
  const stored = new Map(items.map(({ metadata }) => [keyOf(metadata), metadata.generation]))
  const isCurrent = (): boolean => {
    let count = 0
    for (const { key, kind, object, deleted } of policies.items.values()) {
      if (kind !== "PolicyInvariant" || deleted !== undefined) continue
      // An invariant that is newer than in the list is a change as well.
      if (!stored.has(key) || (object.metadata.generation ?? 0) < (stored.get(key) ?? 0)) return false
      count += 1
    }
    return count >= stored.size
  }
  if (isCurrent()) return false
  return new Promise(resolve => {
    const end = (answer: boolean): void => {
      clearTimeout(timer)
      stop()
      resolve(answer)
    }
    const timer = setTimeout(() => end(false), patienceMs)
    const stop = policies.onChange(() => {
      if (isCurrent()) end(true)
    })
  })
}

function keyOf({ namespace = "", name }: KubernetesObject["metadata"]): string {
  return policyKey("PolicyInvariant", namespace, name)
}
