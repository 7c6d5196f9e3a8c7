// SPDX-License-Identifier: Apache-2.0
// Meters that record events and let a test wait for one.

import { EventEmitter, once } from "node:events"
import { eventually, sourceOf } from "@merlon/wire/testing"
import type { LimitName } from "../../limits.js"
import type { Meters, RequestRecord, TlsFailure } from "../../observe/meters.js"

export class RecordingMeters implements Meters {
  readonly failures: TlsFailure[] = []
  readonly limits: LimitName[] = []
  readonly records: RequestRecord[] = []
  readonly rejected: RequestRecord[] = []
  readonly ended: string[] = []
  open = 0
  /** Connections opened since the start. */
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

  connectionRejected(record: RequestRecord): void {
    this.rejected.push(record)
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

  async until(holds: (meters: this) => boolean, limitMs?: number): Promise<void> {
    const { failures, limits, ended, rejected, records } = this
    await eventually(() => holds(this), {
      what: sourceOf(holds),
      state: () =>
        JSON.stringify({
          open: this.open,
          opened: this.opened,
          failures,
          limits,
          ended,
          rejected: rejected.length,
          records: records.length,
        }),
      change: signal => once(this.#events, "change", { signal }),
      ...(limitMs !== undefined && { limitMs }),
    })
  }
}
