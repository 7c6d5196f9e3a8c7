// SPDX-License-Identifier: Apache-2.0
// The stored history of one namespace: its entries, and the documents before each change, from which earlier moments
// are reconstructed. Bounded in entries and in bytes; the oldest are dropped first.

import { type Foreign, objectOf } from "../registry/foreign.js"
import { appended, type ChangeFacts, type HistoryEntry } from "./chain.js"
import { bodyDigest, packed, unpacked } from "./policy-body.js"

export interface NamespaceHistory {
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[]
  /** Compressed documents by digest. */
  readonly bodies: ReadonlyMap<string, string>
}

export interface RecordedChange {
  readonly facts: ChangeFacts
  /** The document before the change, in the form that the history stores. */
  readonly body: string | undefined
  /** The compressed certificate with its policies, if there is one. */
  readonly evidence?: string | undefined
}

export interface HistoryBounds {
  readonly entries: number
  readonly bytes: number
}

export const EMPTY_HISTORY: NamespaceHistory = { entries: [], bodies: new Map() }
/** A document that is larger when compressed is left out: moments before its change cannot be reconstructed. */
const MAX_PACKED = 64 << 10

export function withChanges(
  history: NamespaceHistory,
  changes: readonly RecordedChange[],
  bounds: HistoryBounds,
): NamespaceHistory {
  let { entries } = history
  const bodies = new Map(history.bodies)
  for (const { facts, body } of changes) {
    entries = appended(entries, facts)
    if (body === undefined) continue
    const text = packed(body)
    if (text.length <= MAX_PACKED) bodies.set(bodyDigest(body), text)
  }
  entries = entries.slice(-bounds.entries)
  // Counts the text of each entry and of its document. A document that entries share is counted twice, on the safe
  // side.
  let size = 0
  let first = entries.length
  while (first > 0) {
    const entry = entries[first - 1]
    size += JSON.stringify(entry).length + 1 + (bodies.get(entry?.before ?? "")?.length ?? 0) + 70
    if (size > bounds.bytes) break
    first--
  }
  const kept = entries.slice(first)
  const needed = new Set(kept.map(({ before }) => before))
  return { entries: kept, bodies: new Map([...bodies].filter(([digest]) => needed.has(digest))) }
}

/** The data of the ConfigMap. */
export function writeHistory({ entries, bodies }: NamespaceHistory): { readonly [field: string]: string } {
  return { entries: JSON.stringify(entries), documents: JSON.stringify(Object.fromEntries(bodies)) }
}

/** Undefined if the data has another format. `brokenLinks` checks whether the entries are unchanged. */
export function readHistory(data: unknown): NamespaceHistory | undefined {
  const { entries, documents } = objectOf(data)
  if (typeof entries !== "string" || typeof documents !== "string") return undefined
  try {
    const list: unknown = JSON.parse(entries)
    if (!Array.isArray(list) || !list.every(isEntry)) return undefined
    const bodies = Object.entries(objectOf(JSON.parse(documents)))
    return {
      entries: list,
      bodies: new Map(bodies.flatMap(([digest, text]) => (typeof text === "string" ? [[digest, text]] : []))),
    }
  } catch {
    return undefined
  }
}

/** Checks the fields that are read; the digest protects the others. */
export function isEntry(value: unknown): value is HistoryEntry {
  const entry = objectOf(value)
  const { difference } = entry
  const texts = ["time", "operation", "kind", "namespace", "name", "uid", "digest"]
  const optional = ["user", "before", "after", "previous"]
  return (
    texts.every(field => typeof entry[field] === "string") &&
    optional.every(field => entry[field] === undefined || typeof entry[field] === "string") &&
    Number.isFinite(Date.parse(String(entry.time))) &&
    Number.isInteger(entry.sequence) &&
    Number.isInteger(entry.generation) &&
    (entry.certificate === undefined || isNote(objectOf(entry.certificate))) &&
    Array.isArray(objectOf(difference).allowed) &&
    Array.isArray(objectOf(difference).denied)
  )
}

function isNote({ digest, size, missing }: Foreign): boolean {
  return typeof missing === "string" || (typeof digest === "string" && Number.isInteger(size))
}

/** The evidence to keep, by digest of the certificate: that of the newest entries, within the limit. */
export function storedEvidence(
  entries: readonly HistoryEntry[],
  evidence: ReadonlyMap<string, string>,
  bytes: number,
): ReadonlyMap<string, string> {
  const kept = new Map<string, string>()
  let size = 0
  for (const { certificate } of [...entries].reverse()) {
    const digest = certificate !== undefined && "digest" in certificate ? certificate.digest : ""
    const text = evidence.get(digest)
    if (text === undefined || kept.has(digest)) continue
    size += text.length + 70
    if (size > bytes) break
    kept.set(digest, text)
  }
  return kept
}

/** The document before a change; undefined if it is not kept, or does not match the entry. */
export function bodyBefore({ bodies }: NamespaceHistory, { before }: HistoryEntry): string | undefined {
  const text = before === undefined ? undefined : bodies.get(before)
  return text === undefined || before === undefined ? undefined : unpacked(text, before)
}
