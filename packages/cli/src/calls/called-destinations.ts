// SPDX-License-Identifier: Apache-2.0
// The destinations that a workload called since its proxy started, for queries of the control plane. Bounded: programs
// choose destinations, so the least recently called one is dropped.

import type { CallRecord } from "@merlon/xclient"
import { type CalledDestination, MAX_DESTINATIONS } from "@merlon/xds"

type Row = { -readonly [K in keyof CalledDestination]: CalledDestination[K] }

/** The lengths that the control plane accepts. */
const MOST = { destination: 300, workload: 512, reason: 500 }

export class CalledDestinations {
  readonly #rows = new Map<string, Row>()
  readonly #now: () => number
  /** Most calls have the same destination as the call before, and comparing is cheaper than making a key. */
  #last: { readonly destination: string; readonly transport: CallRecord["transport"]; readonly row: Row } | undefined

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  add(record: CallRecord): void {
    const { protocol, status, failure, reason, workload, decisionId } = record
    const row = this.#row(record)
    row.lastSeen = this.#now()
    row.count += 1
    if (workload !== undefined) row.workload = cut(workload, MOST.workload)
    if (protocol !== "tcp") row.lastStatus = status
    if (decisionId !== undefined) row.lastDecision = decisionId
    if (failure === undefined) return
    row.failures += 1
    row.lastFailure = failure
    row.lastReason = reason && cut(reason, MOST.reason)
  }

  /** The most recently called destination first. */
  list(): readonly CalledDestination[] {
    return [...this.#rows.values()].sort((a, b) => b.lastSeen - a.lastSeen).map(row => ({ ...row }))
  }

  #row(record: CallRecord): Row {
    const { destination, transport } = record
    if (this.#last?.destination !== destination || this.#last.transport !== transport)
      this.#last = { destination, transport, row: this.#find(record) }
    return this.#last.row
  }

  #find({ destination, inMesh, transport }: CallRecord): Row {
    // A connection with an unknown destination has nothing to record.
    const named = destination === "" ? "(unknown)" : cut(destination, MOST.destination)
    const key = `${named} ${transport}`
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    if (this.#rows.size >= MAX_DESTINATIONS) this.#forgetOldest()
    const now = this.#now()
    const row: Row = { destination: named, inMesh, transport, count: 0, failures: 0, firstSeen: now, lastSeen: now }
    this.#rows.set(key, row)
    return row
  }

  #forgetOldest(): void {
    let oldest: string | undefined
    let lastSeen = Number.POSITIVE_INFINITY
    for (const [key, row] of this.#rows) {
      if (row.lastSeen >= lastSeen) continue
      oldest = key
      lastSeen = row.lastSeen
    }
    if (oldest !== undefined) this.#rows.delete(oldest)
  }
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text)
