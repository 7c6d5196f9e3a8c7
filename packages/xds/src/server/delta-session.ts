// SPDX-License-Identifier: Apache-2.0
// The incremental variant of xDS on one stream, several types at once. A response is complete for its type: it carries
// everything in which the client's state differs from the newest, so to accept it is to hold the newest.

import { type DeltaResponse, DeltaType } from "./delta-type.js"
import { checkNames, checkTotal, checkTypeUrl } from "./request-bounds.js"
import { REJECTION_LENGTH, type SessionOptions, type StreamSession } from "./session.js"
import { exhausted, type StreamFault } from "./stream-fault.js"
import { typeRank } from "./type-order.js"

/** The parts of a DeltaDiscoveryRequest that matter once the stream is open. */
export interface DeltaRequest {
  readonly typeUrl: string
  readonly resourceNamesSubscribe: readonly string[]
  readonly resourceNamesUnsubscribe: readonly string[]
  readonly initialResourceVersions: { readonly [name: string]: string }
  readonly responseNonce: string
  readonly errorDetail?: { readonly message: string } | undefined
}

export class DeltaSession implements StreamSession<DeltaRequest, DeltaResponse> {
  readonly #options: SessionOptions
  /** In the order in which they are served. */
  #types = new Map<string, DeltaType>()
  #sequence = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  request(request: DeltaRequest): StreamFault | undefined {
    const { limits, mayWatch, subscriber } = this.#options
    const { typeUrl, resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe } = request
    const known = this.#types.get(typeUrl)
    const claims = known === undefined ? Object.entries(request.initialResourceVersions) : []
    const fault =
      checkTypeUrl(typeUrl, limits) ??
      checkNames([...subscribe, ...unsubscribe, ...claims.flat()], limits) ??
      (claims.length > limits.namesPerType ? exhausted(`at most ${limits.namesPerType} known versions`) : undefined)
    if (fault !== undefined) return fault
    if (known === undefined) {
      if (this.#types.size >= limits.typesPerStream) return exhausted(`at most ${limits.typesPerStream} types`)
      const refusal = mayWatch(typeUrl)
      if (refusal !== undefined) return refusal
    }
    const type = known ?? this.#add(typeUrl)
    this.#settle(typeUrl, type, request)
    if (known !== undefined && subscribe.length === 0 && unsubscribe.length === 0) return undefined

    type.claim(claims)
    const claimed = new Set(claims.map(([name]) => name))
    // xDS protocol, "Wildcard subscription": a first request that names nothing asks for everything.
    if (known === undefined && subscribe.length === 0) type.subscribe("*", false)
    for (const name of subscribe) type.subscribe(name, claimed.has(name))
    for (const name of unsubscribe) type.unsubscribe(name)
    type.prune()
    if (type.names.size > limits.namesPerType) return exhausted(`at most ${limits.namesPerType} names of a type`)
    const tooMany = checkTotal(
      [...this.#types.values()].map(({ size }) => size),
      limits,
    )
    if (tooMany !== undefined) return tooMany
    if (known === undefined) type.expecting = true
    subscriber.watch(typeUrl, type.wildcard ? "*" : new Set(type.names))
    return undefined
  }

  wake(typeUrl: string): void {
    const type = this.#types.get(typeUrl)
    if (type !== undefined) type.dirty = true
  }

  next(now: number): DeltaResponse | undefined {
    for (const [typeUrl, type] of this.#types) {
      const response = this.#respond(typeUrl, type, now)
      if (response !== undefined) return response
    }
    return undefined
  }

  get deadline(): number | undefined {
    let earliest: number | undefined
    for (const type of this.#types.values()) {
      const due = type.unanswered.deadline(this.#options.limits.ackDeadlineMs, type.dirty)
      if (due !== undefined && (earliest === undefined || due < earliest)) earliest = due
    }
    return earliest
  }

  #add(typeUrl: string): DeltaType {
    const type = new DeltaType()
    const types = [...this.#types.set(typeUrl, type)]
    this.#types = new Map(types.sort(([one], [other]) => typeRank(one) - typeRank(other)))
    return type
  }

  #respond(typeUrl: string, type: DeltaType, now: number): DeltaResponse | undefined {
    const { subscriber, limits, observe } = this.#options
    if (!type.unanswered.empty) {
      if (!type.unanswered.isOverdue(now, limits.ackDeadlineMs)) return undefined
      if (type.unanswered.reportOnce()) observe?.overdue?.(typeUrl)
    }
    if (!type.dirty && !type.expecting) return undefined
    type.dirty = false
    const snapshot = subscriber.snapshot(typeUrl)
    const { resources, removed, changes } = type.difference(snapshot)
    const { expecting } = type
    if (!expecting && type.wasRejected(changes)) return undefined
    if (!expecting && changes.size === 0) {
      // Changed and changed back between two looks: the client enforces this already and need not be asked.
      if (type.unanswered.empty) subscriber.acknowledged(typeUrl, snapshot.revision)
      return undefined
    }
    type.expecting = false
    const { revision } = snapshot
    this.#sequence += 1
    const nonce = `${this.#sequence}-${revision}`
    type.unanswered.add({ nonce, revision, at: now, changes })
    return { typeUrl, nonce, revision, resources, removed }
  }

  #settle(typeUrl: string, type: DeltaType, { responseNonce, errorDetail }: DeltaRequest): void {
    if (responseNonce === "") return
    const settled = type.unanswered.settle(responseNonce)
    // A stale nonce answers nothing; what the request says of names counts all the same.
    if (settled === undefined) return
    const { subscriber, observe } = this.#options
    const { sent, skipped } = settled
    if (errorDetail === undefined) {
      type.accepted(sent.changes)
      observe?.acknowledged?.(typeUrl, sent.at)
      subscriber.acknowledged(typeUrl, sent.revision)
      return
    }
    for (const { changes } of skipped) type.rejected(changes)
    type.rejected(sent.changes)
    const message = errorDetail.message.slice(0, REJECTION_LENGTH)
    observe?.rejected?.(typeUrl, message)
    subscriber.rejected(typeUrl, sent.revision, message)
  }
}
