// SPDX-License-Identifier: Apache-2.0
// Writes statuses, as few as possible: the contents are computed when they can be written, so that they include
// everything up to then. One write at a time per resource: the first at once, further ones a second apart while a count
// grows, and the last at once. Only the leader writes; without the Lease nothing is queued.

import { messageOf } from "@merlon/xds/runtime"
import { ApiError } from "../kubernetes/client.js"
import { type Clock, systemClock } from "../observe/clock.js"

export interface StatusWriterOptions {
  /**
   * Writes the current status of the resource. Returns false if the stored status is up to date. Returns true also if
   * it is too early for a status: computing it again for each proxy that reconnects would cost more than handling the
   * connections.
   */
  readonly write: (key: string) => Promise<boolean>
  readonly isLeader: () => boolean
  /** Reports a failure, unless the resource was deleted or has changed. */
  readonly warn: (message: string) => void
  readonly clock?: Clock
  readonly intervalMs?: number
  readonly concurrency?: number
}

interface Resource {
  dirty: boolean
  urgent: boolean
  queued: boolean
  writing: boolean
  failures: number
  /** Earliest time of the next write, on the monotonic clock. */
  notBefore: number
  cancelTimer: (() => void) | undefined
}

const INTERVAL = 1_000
const CONCURRENCY = 8
const FIRST_RETRY = 1_000
const LAST_RETRY = 60_000
/** Deleted, changed, or a failed `test` of the patch: in each case another change is on its way. */
const EXPECTED = [404, 409, 422]

export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #clock: Clock
  readonly #interval: number
  readonly #resources = new Map<string, Resource>()
  readonly #queue: string[] = []
  readonly #urgentQueue: string[] = []
  #writing = 0
  #stopped = false

  constructor(options: StatusWriterOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#interval = options.intervalMs ?? INTERVAL
  }

  /** `urgent` is for changes that users wait for, and skips the pause of a second. */
  changed(key: string, urgent = false): void {
    if (this.#stopped || !this.#options.isLeader()) return
    const resource = this.#resources.get(key) ?? fresh()
    this.#resources.set(key, resource)
    resource.dirty = true
    // A retry of a failing resource is not urgent.
    resource.urgent ||= urgent && resource.failures === 0
    this.#plan(key, resource)
  }

  /** Call it when the resource was deleted. */
  forget(key: string): void {
    this.#resources.get(key)?.cancelTimer?.()
    this.#resources.delete(key)
  }

  /** Without the Lease nothing more is written; the next leader reports the changes again. */
  leadershipLost(): void {
    for (const [key, resource] of this.#resources) {
      resource.cancelTimer?.()
      // An entry that is being written is kept, so that two writes never overlap.
      if (resource.writing) Object.assign(resource, { ...fresh(), writing: true })
      else this.#resources.delete(key)
    }
    this.#queue.length = 0
    this.#urgentQueue.length = 0
  }

  stop(): void {
    this.#stopped = true
    this.leadershipLost()
  }

  #plan(key: string, resource: Resource): void {
    if (!resource.dirty || resource.writing || resource.queued) return
    const wait = resource.urgent ? 0 : resource.notBefore - this.#clock.monotonic()
    if (wait > 0) {
      resource.cancelTimer ??= this.#clock.after(wait, () => {
        resource.cancelTimer = undefined
        this.#plan(key, resource)
      })
      return
    }
    resource.cancelTimer?.()
    resource.cancelTimer = undefined
    resource.queued = true
    ;(resource.urgent ? this.#urgentQueue : this.#queue).push(key)
    this.#drain()
  }

  #drain(): void {
    while (this.#writing < (this.#options.concurrency ?? CONCURRENCY)) {
      const key = this.#urgentQueue.shift() ?? this.#queue.shift()
      if (key === undefined) return
      const resource = this.#resources.get(key)
      if (resource === undefined || !resource.queued) continue
      resource.queued = false
      resource.dirty = false
      resource.urgent = false
      // The Lease may have been lost while it was queued.
      if (!this.#options.isLeader()) continue
      resource.writing = true
      this.#writing++
      this.#write(key, resource).catch(() => undefined)
    }
  }

  async #write(key: string, resource: Resource): Promise<void> {
    try {
      const wrote = await this.#options.write(key)
      resource.failures = 0
      if (wrote) resource.notBefore = this.#clock.monotonic() + this.#interval
    } catch (error) {
      this.#failed(key, resource, error)
    }
    resource.writing = false
    this.#writing--
    if (this.#resources.get(key) === resource) this.#plan(key, resource)
    this.#drain()
  }

  #failed(key: string, resource: Resource, error: unknown): void {
    const code = error instanceof ApiError ? error.code : undefined
    if (code === undefined || !EXPECTED.includes(code)) {
      const reason = messageOf(error)
      this.#options.warn(`the status of \`${key}\` could not be written: ${reason}`)
    }
    const wait = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(resource.failures, 10))
    resource.failures++
    resource.notBefore = this.#clock.monotonic() + wait
    resource.urgent = false
    resource.dirty = true
  }
}

function fresh(): Resource {
  return {
    dirty: false,
    urgent: false,
    queued: false,
    writing: false,
    failures: 0,
    notBefore: Number.NEGATIVE_INFINITY,
    cancelTimer: undefined,
  }
}
