// SPDX-License-Identifier: Apache-2.0
// The log of changes in LevelDB: one record per revision, with a key that sorts by revision.

import { Entry, type StoreEvent } from "../store.js"

interface LogRecord {
  readonly k: string
  /** Value and create revision; absent for a deletion. */
  readonly v?: string
  readonly c?: number
  /** Previous value, create revision and modification revision. */
  readonly pv?: string
  readonly pc?: number
  readonly pm?: number
}

export const logKey = (revision: number): string => `l${revision.toString(16).padStart(14, "0")}`

export const revisionOf = (key: string): number => Number.parseInt(key.slice(1), 16)

/** `text` is a record written by `toRecord`. */
export function fromRecord(revision: number, text: string): StoreEvent {
  const { k: key, v, c, pv, pc, pm } = JSON.parse(text) as LogRecord
  return {
    revision,
    key,
    entry: v === undefined ? undefined : new Entry(key, v, c ?? revision, revision),
    previous: pv === undefined ? undefined : new Entry(key, pv, pc ?? 0, pm ?? 0),
  }
}

export function toRecord({ key, entry, previous }: StoreEvent): string {
  const record: LogRecord = {
    k: key,
    ...(entry && { v: entry.value, c: entry.createRevision }),
    ...(previous && { pv: previous.value, pc: previous.createRevision, pm: previous.modRevision }),
  }
  return JSON.stringify(record)
}
