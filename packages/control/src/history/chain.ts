// SPDX-License-Identifier: Apache-2.0
// The history of one namespace's policies as values: entries that are chained by digest, oldest first, and bounded.
// When the oldest entries are dropped, the rest still verifies: an entry names the digest of the one before it, kept or
// not.

import { createHash } from "node:crypto"
import type { ChangeEffect } from "@merlon/policy/proof"
import { canonicalJson } from "@merlon/xds/runtime"

export interface ChangeFacts {
  /** When the change was observed in the cluster, RFC 3339. */
  readonly time: string
  /** The user from the admission review; absent if several users asked for exactly this change. */
  readonly user?: string
  readonly operation: "create" | "update" | "delete"
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly generation: number
  /** Digests of the documents; absent if the policy did not exist before, or does not exist after the change. */
  readonly before?: string
  readonly after?: string
  /** The effect, proved with the other policies of that moment, or undecided. */
  readonly difference: ChangeEffect
  /** The certificate of the difference, or why there is none; absent in entries of older versions. */
  readonly certificate?: CertificateNote
}

/** `digest` and `size` (in bytes) of the file, or why there is none. */
export type CertificateNote = { readonly digest: string; readonly size: number } | { readonly missing: string }

export interface HistoryEntry extends ChangeFacts {
  /** Counts from 1 without gaps. */
  readonly sequence: number
  /** Digest of the previous entry; absent in the very first one. */
  readonly previous?: string
  /** Digest of all other fields of this entry. */
  readonly digest: string
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

export function appended(entries: readonly HistoryEntry[], facts: ChangeFacts): readonly HistoryEntry[] {
  const last = entries.at(-1)
  const entry = {
    ...facts,
    sequence: (last?.sequence ?? 0) + 1,
    ...(last === undefined ? {} : { previous: last.digest }),
  }
  return [...entries, { ...entry, digest: digestOf(entry) }]
}

function digestOf(entry: object): string {
  return sha256(canonicalJson(entry))
}

/** Problems of a chain; empty if every entry is unchanged and none is missing in the middle. */
export function brokenLinks(entries: readonly HistoryEntry[]): readonly string[] {
  const problems: string[] = []
  let before: HistoryEntry | undefined
  for (const entry of entries) {
    const { digest, ...rest } = entry
    if (digestOf(rest) !== digest) problems.push(`entry ${entry.sequence} was changed after it was written`)
    if (before === undefined && entry.sequence === 1 && entry.previous !== undefined) {
      problems.push("entry 1 refers to a previous entry")
    }
    if (before !== undefined && (entry.sequence !== before.sequence + 1 || entry.previous !== before.digest)) {
      problems.push(`entry ${entry.sequence} does not follow entry ${before.sequence}`)
    }
    before = entry
  }
  return problems
}

/** Policies whose entries do not join: they changed between two entries without an entry. */
export function unrecordedChanges(entries: readonly HistoryEntry[]): readonly string[] {
  const problems: string[] = []
  for (const own of byPolicy(entries).values()) {
    for (const [index, entry] of own.entries()) {
      const before = own[index - 1]
      if (before === undefined || before.after === entry.before) continue
      problems.push(
        `${policyName(entry)} changed between entries ${before.sequence} and ${entry.sequence} without an entry`,
      )
    }
  }
  return problems
}

export function policyName({ kind, namespace, name }: Pick<ChangeFacts, "kind" | "namespace" | "name">): string {
  return `${kind} \`${namespace}/${name}\``
}

/** Entries in the order of the changes. Replicas write concurrently, so entries of one policy may be out of order. */
export function byPolicy(entries: readonly HistoryEntry[]): ReadonlyMap<string, readonly HistoryEntry[]> {
  const groups = new Map<string, HistoryEntry[]>()
  for (const entry of entries) {
    const key = `${entry.kind}/${entry.namespace}/${entry.name}`
    groups.set(key, [...(groups.get(key) ?? []), entry])
  }
  for (const group of groups.values()) {
    const born = new Map<string, number>()
    for (const { uid, time } of group)
      born.set(uid, Math.min(born.get(uid) ?? Number.POSITIVE_INFINITY, Date.parse(time)))
    group.sort(
      (a, b) =>
        (a.uid === b.uid ? 0 : (born.get(a.uid) ?? 0) - (born.get(b.uid) ?? 0)) ||
        Number(a.operation === "delete") - Number(b.operation === "delete") ||
        a.generation - b.generation ||
        a.sequence - b.sequence,
    )
  }
  return groups
}
