// SPDX-License-Identifier: Apache-2.0
// Meters that remember, and let a test wait for what it knows must come.

import { EventEmitter, once } from "node:events"
import type { LimitName } from "../../limits.js"
import type { Meters, RequestRecord, TlsFailure } from "../../observe/meters.js"

export class RecordingMeters implements Meters {
  readonly failures: TlsFailure[] = []
  readonly limits: LimitName[] = []
  readonly records: RequestRecord[] = []
  readonly refused: RequestRecord[] = []
  readonly ended: string[] = []
  open = 0
  /** All that ever were. */
  opened = 0
  readonly #events = new EventEmitter()

  connectionOpened(): void {
    this.open++
    this.opened++
    this.#events.emit("change")
  }

  connectionClosed(): void {
    this.open--
    this.#events.emit("change")
  }

  connectionRefused(record: RequestRecord): void {
    this.refused.push(record)
    this.#events.emit("change")
  }

  tlsFailed(failure: TlsFailure): void {
    this.failures.push(failure)
    this.#events.emit("change")
  }

  endedByChange(protocol: string, stage: string): void {
    this.ended.push(`${protocol} ${stage}`)
    this.#events.emit("change")
  }

  limitHit(limit: LimitName): void {
    this.limits.push(limit)
    this.#events.emit("change")
  }

  requestDone(record: RequestRecord): void {
    this.records.push(record)
    this.#events.emit("change")
  }

  /** Resolves once it holds; the test's own time limit is the only one. */
  async until(holds: (meters: this) => boolean): Promise<void> {
    while (!holds(this)) await once(this.#events, "change")
  }
}
