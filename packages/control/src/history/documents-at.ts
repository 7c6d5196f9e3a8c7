// SPDX-License-Identifier: Apache-2.0
// The policies of a namespace at an earlier moment: the current ones, with every recorded change since then undone. A
// change without an entry, or one that cannot be undone, is reported as a gap; then nothing is claimed about that
// moment.

import type { MeshNames } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { byPolicy, type HistoryEntry, policyName } from "./chain.js"
import { bodyBefore, type NamespaceHistory } from "./namespace-history.js"
import { documentOf } from "./policy-body.js"

/** A policy as it is stored now. */
export interface CurrentPolicy {
  /** `Kind/namespace/name`. */
  readonly key: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Digest of the body that the history stores. */
  readonly digest: string
  /** When it was last written, in milliseconds, as far as the object shows. */
  readonly changedAt: number
}

export interface Moment {
  /** How the earlier policies differ from the current ones: undefined for one that did not exist. */
  readonly documents: ReadonlyMap<string, PolicyDocument | undefined>
  /** Why the policies of that moment are unknown; empty if they are known. */
  readonly gaps: readonly string[]
}

/** API servers record write times in whole seconds, and their clock may be slightly ahead of ours. */
const CLOCK_MS = 2_000

export function documentsAt(
  time: number,
  { entries, ...rest }: NamespaceHistory,
  current: readonly CurrentPolicy[],
  names: MeshNames,
): Moment {
  const documents = new Map<string, PolicyDocument | undefined>()
  const gaps: string[] = []
  const [oldest] = entries
  if (oldest !== undefined && oldest.sequence > 1 && Date.parse(oldest.time) > time) {
    gaps.push(`the history of namespace \`${oldest.namespace}\` starts at ${oldest.time}`)
  }
  const policies = byPolicy(entries)
  for (const [key, all] of policies) {
    const now = current.find(one => one.key === key)
    const undone = all.filter(entry => Date.parse(entry.time) > time)
    const [first] = undone
    if (all.at(-1)?.after !== now?.digest) gaps.push(`${nameOf(all)} changed after its last entry, without an entry`)
    if (first === undefined) continue
    for (const [index, entry] of undone.entries()) {
      const before = undone[index - 1]
      if (before !== undefined && before.after !== entry.before)
        gaps.push(`${policyName(entry)} changed without an entry`)
    }
    const body = bodyBefore({ entries, ...rest }, first)
    const document = body === undefined ? undefined : documentOf(body, names)
    if (first.before !== undefined && document === undefined) {
      gaps.push(`${policyName(first)} before ${first.time} is not kept, or was invalid`)
    }
    documents.set(key, document)
  }
  for (const one of current) {
    if (policies.has(one.key) || one.changedAt <= time + CLOCK_MS) continue
    gaps.push(`${policyName(one)} changed without an entry`)
  }
  return { documents, gaps: [...new Set(gaps)] }
}

function nameOf([entry]: readonly HistoryEntry[]): string {
  return entry === undefined ? "a policy" : policyName(entry)
}
