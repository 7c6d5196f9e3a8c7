// SPDX-License-Identifier: Apache-2.0
// Changes that the proof thread has not received yet. They are sent in parts, so that copying a large cluster blocks
// nothing.

import type { PolicySource, StoredPolicy } from "../policies/stored-policy.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import { proofWorkload } from "./proof-workload.js"
import type { ClusterChanges } from "./question.js"

const PART = 200

export interface ClusterChangeSources {
  readonly policies: PolicySource
  readonly directory: MeshDirectory
}

export class ClusterChangeQueue {
  readonly #sources: ClusterChangeSources
  readonly #documents = new Set<string>()
  readonly #workloads = new Set<string>()
  readonly #stops: readonly (() => void)[]

  constructor(sources: ClusterChangeSources, changed: () => void) {
    this.#sources = sources
    this.#stops = [
      sources.policies.onChange(({ before, after }) => {
        const key = (after ?? before)?.key
        const isSame = before?.inForce === after?.inForce && before?.deleted === after?.deleted
        if (key === undefined || (isSame && isLeaving(before) === isLeaving(after))) return
        this.#documents.add(key)
        changed()
      }),
      sources.directory.onChange(({ workloads }) => {
        for (const key of workloads) this.#workloads.add(key)
        changed()
      }),
    ]
    this.everything()
  }

  /** Queues everything for a new thread, which knows nothing. It never hears of objects that were deleted before. */
  everything(): void {
    const { policies, directory } = this.#sources
    for (const key of policies.items.keys()) this.#documents.add(key)
    for (const key of directory.workloads.keys()) this.#workloads.add(key)
  }

  /** Returns the next part; undefined if everything was sent. */
  next(): ClusterChanges | undefined {
    if (this.#documents.size === 0 && this.#workloads.size === 0) return undefined
    const { policies, directory } = this.#sources
    return {
      documents: taken(this.#documents).map(key => {
        const stored = policies.items.get(key)
        return [key, stored?.deleted === undefined ? stored?.inForce : undefined, isLeaving(stored)]
      }),
      workloads: taken(this.#workloads).map(key => {
        const workload = directory.workloads.get(key)
        return [key, workload && proofWorkload(workload)]
      }),
    }
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }
}

/** Whether only finalizers keep the policy: it is in effect, and can disappear at any moment without another review. */
function isLeaving(stored: StoredPolicy | undefined): boolean {
  return stored?.object.metadata.deletionTimestamp !== undefined
}

function taken(keys: Set<string>): readonly string[] {
  const part: string[] = []
  for (const key of keys) {
    if (part.length === PART) break
    part.push(key)
    keys.delete(key)
  }
  return part
}
