// SPDX-License-Identifier: Apache-2.0
// The types that one stream watches, in either variant of the protocol: their number, the order in which they are
// served, the deadline of an acknowledgement, and its outcome.

import { REJECTION_LENGTH, type SessionOptions } from "./session.js"
import { exhausted, type StreamError } from "./stream-error.js"
import { typeRank } from "./type-order.js"
import type { Sent, Unanswered } from "./unanswered.js"

export interface ServedType {
  readonly unanswered: Unanswered
  /** Whether the type has changed. */
  dirty: boolean
  /** The client waits for a response, even if it is empty. */
  expecting: boolean
  accepted(sent: Sent): void
  /** `skipped` are earlier responses that were never acknowledged. */
  nacked(sent: Sent, skipped: readonly Sent[]): void
}

/** The part of a request that acknowledges or rejects a response. */
interface Answer {
  readonly responseNonce: string
  readonly errorDetail?: { readonly message: string } | undefined
}

export class ServedTypes<T extends ServedType> {
  readonly #options: SessionOptions
  /** In the order in which they are served. */
  #types = new Map<string, T>()
  #sequence = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  get(typeUrl: string): T | undefined {
    return this.#types.get(typeUrl)
  }

  values(): Iterable<T> {
    return this.#types.values()
  }

  /** Why the stream may not watch another type; undefined if it may. */
  rejection(typeUrl: string): StreamError | undefined {
    const { limits, mayWatch } = this.#options
    if (this.#types.size >= limits.typesPerStream) return exhausted(`at most ${limits.typesPerStream} types`)
    return mayWatch(typeUrl)
  }

  add(typeUrl: string, type: T): T {
    const types = [...this.#types.set(typeUrl, type)]
    this.#types = new Map(types.sort(([one], [other]) => typeRank(one) - typeRank(other)))
    return type
  }

  wake(typeUrl: string): void {
    const type = this.#types.get(typeUrl)
    if (type !== undefined) type.dirty = true
  }

  /** The first response that is available. Types that wait for an acknowledgement are skipped until it is overdue. */
  next<R>(now: number, respond: (typeUrl: string, type: T) => R | undefined): R | undefined {
    for (const [typeUrl, type] of this.#types) {
      if (this.#waits(typeUrl, type, now) || (!type.dirty && !type.expecting)) continue
      type.dirty = false
      const response = respond(typeUrl, type)
      if (response !== undefined) return response
    }
    return undefined
  }

  /** When the first of the responses becomes overdue. */
  get deadline(): number | undefined {
    let first: number | undefined
    for (const { unanswered, dirty } of this.#types.values()) {
      const due = unanswered.deadline(this.#options.limits.ackDeadlineMs, dirty)
      if (due !== undefined && (first === undefined || due < first)) first = due
    }
    return first
  }

  /** Records a response that is being sent. Returns its nonce. */
  sent(type: T, { revision, at, changes }: Omit<Sent, "nonce">): string {
    type.expecting = false
    this.#sequence += 1
    const nonce = `${this.#sequence}-${revision}`
    type.unanswered.add({ nonce, revision, at, changes })
    return nonce
  }

  /** A stale nonce acknowledges nothing; the names in its request count anyway. */
  settle(typeUrl: string, type: T, { responseNonce, errorDetail }: Answer): void {
    const settled = responseNonce === "" ? undefined : type.unanswered.settle(responseNonce)
    if (settled === undefined) return
    const { subscriber, observe } = this.#options
    const { sent, skipped } = settled
    if (errorDetail === undefined) {
      type.accepted(sent)
      observe?.acknowledged?.(typeUrl, sent.at)
      subscriber.acknowledged(typeUrl, sent.revision)
      return
    }
    type.nacked(sent, skipped)
    const message = errorDetail.message.slice(0, REJECTION_LENGTH)
    observe?.rejected?.(typeUrl, message)
    subscriber.rejected(typeUrl, sent.revision, message)
  }

  #waits(typeUrl: string, { unanswered }: T, now: number): boolean {
    if (unanswered.empty) return false
    if (!unanswered.isOverdue(now, this.#options.limits.ackDeadlineMs)) return true
    if (unanswered.reportOnce()) this.#options.observe?.overdue?.(typeUrl)
    return false
  }
}
