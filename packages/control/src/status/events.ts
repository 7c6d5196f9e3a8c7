// SPDX-License-Identifier: Apache-2.0
// Kubernetes Events that users must see next to a resource (`kubectl describe`). Repetitions of one reason on one
// object are one Event with a count, also across restarts. The first occurrence is written at once and repetitions at
// most every half minute, so that Events cannot flood the cluster.

import { createHash } from "node:crypto"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { EVENTS, type KubernetesObject } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import { oneLine } from "../observe/one-line.js"

const EVENT_TYPES = {
  JwksFetchFailed: "Warning",
  JwksRecovered: "Normal",
  ProxyRejected: "Warning",
  Superseded: "Warning",
  InvalidStored: "Warning",
  RootRotationPhase: "Normal",
  CertificateExpiring: "Warning",
  RevocationApplied: "Normal",
  RevocationUnreadable: "Warning",
} as const
export type EventReason = keyof typeof EVENT_TYPES

export interface InvolvedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
}

export interface EventSink {
  record(involved: InvolvedObject, reason: EventReason, message: string): void
}

export interface EventRecorderOptions {
  readonly client: KubernetesClient
  /** The reporting component: `<mesh>-control`. */
  readonly component: string
  /** The reporting replica. */
  readonly instance: string
  readonly warn: (message: string) => void
  readonly clock?: Clock
}

interface StoredEvent extends KubernetesObject {
  readonly count?: number
}

interface Pending {
  readonly involved: InvolvedObject
  readonly reason: EventReason
  message: string
  /** Occurrences since the last write. */
  occurred: number
  firstAt: number
  lastAt: number
  writing: boolean
  cancelTimer: (() => void) | undefined
}

const INTERVAL = 30_000
const MOST_REMEMBERED = 1_000
const LONGEST_MESSAGE = 900

export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions
  readonly #clock: Clock
  /** Ordered by last occurrence. */
  readonly #pending = new Map<string, Pending>()
  #stopped = false

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  record(involved: InvolvedObject, reason: EventReason, message: string): void {
    if (this.#stopped) return
    const key = JSON.stringify([involved.kind, involved.namespace, involved.name, involved.uid, reason])
    const now = this.#clock.now()
    const known = this.#pending.get(key)
    const pending: Pending = known ?? {
      involved,
      reason,
      occurred: 0,
      firstAt: now,
      lastAt: now,
      writing: false,
      message,
      cancelTimer: undefined,
    }
    this.#pending.delete(key)
    this.#pending.set(key, pending)
    pending.message = oneLine(message, LONGEST_MESSAGE)
    if (pending.occurred === 0) pending.firstAt = now
    pending.lastAt = now
    pending.occurred++
    if (pending.cancelTimer === undefined) this.#flush(key, pending)
    this.#forgetOldest()
  }

  stop(): void {
    this.#stopped = true
    for (const { cancelTimer } of this.#pending.values()) cancelTimer?.()
    this.#pending.clear()
  }

  #flush(key: string, pending: Pending): void {
    if (pending.writing || pending.occurred === 0) return
    const { occurred, firstAt } = pending
    pending.occurred = 0
    pending.writing = true
    pending.cancelTimer = this.#clock.after(INTERVAL, () => {
      pending.cancelTimer = undefined
      if (pending.occurred > 0) this.#flush(key, pending)
      else this.#pending.delete(key)
    })
    this.#write(pending, occurred, firstAt)
      .catch((error: unknown) => this.#options.warn(`an event could not be written: ${oneLine(String(error))}`))
      .finally(() => {
        pending.writing = false
      })
      .catch(() => undefined)
  }

  async #write(pending: Pending, occurred: number, firstAt: number): Promise<void> {
    const { client } = this.#options
    const event = this.#eventOf(pending, occurred, firstAt)
    const { name, namespace } = event.metadata
    try {
      await client.create(EVENTS, event)
      return
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409)) throw error
    }
    const stored = await client.get<StoredEvent>(EVENTS, name, namespace)
    const before = typeof stored?.count === "number" && stored.count > 0 ? stored.count : 0
    const patch = { count: before + occurred, lastTimestamp: event.lastTimestamp, message: event.message }
    await client.patch(EVENTS, name, patch, { namespace, type: "merge" })
  }

  #eventOf({ involved, reason, message, lastAt }: Pending, count: number, firstAt: number) {
    const { component, instance } = this.#options
    const hash = createHash("sha256")
      .update(JSON.stringify([involved.kind, involved.uid, reason]))
      .digest("hex")
    // An Event about an object without a namespace belongs into `default`, as the API requires.
    const namespace = involved.namespace ?? "default"
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${involved.name.slice(0, 200)}.${hash.slice(0, 16)}`, namespace },
      involvedObject: involved,
      reason,
      message,
      type: EVENT_TYPES[reason],
      count,
      firstTimestamp: timestamp(firstAt),
      lastTimestamp: timestamp(lastAt),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    }
  }

  #forgetOldest(): void {
    for (const [key, { cancelTimer }] of this.#pending) {
      if (this.#pending.size <= MOST_REMEMBERED) return
      cancelTimer?.()
      this.#pending.delete(key)
    }
  }
}

function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
}
