// SPDX-License-Identifier: Apache-2.0
// The incremental variant of xDS on one stream, for several types at once. A response is complete for its type: it
// contains every difference between the client's state and the newest state, so a client that acknowledges it has the
// newest state.

import { type DeltaResponse, DeltaType } from "./delta-type.js"
import { checkNames, checkTotal, checkTypeUrl } from "./request-bounds.js"
import { ServedTypes } from "./served-types.js"
import type { SessionOptions, StreamSession } from "./session.js"
import { exhausted, type StreamError } from "./stream-error.js"

/** The fields of a DeltaDiscoveryRequest that matter once the stream is open. */
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
  readonly #types: ServedTypes<DeltaType>

  constructor(options: SessionOptions) {
    this.#options = options
    this.#types = new ServedTypes(options)
  }

  request(request: DeltaRequest): StreamError | undefined {
    const { limits, subscriber } = this.#options
    const { typeUrl, resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe } = request
    const known = this.#types.get(typeUrl)
    // By far the most common case: the client only acknowledges or rejects a response.
    if (known !== undefined && subscribe.length === 0 && unsubscribe.length === 0) {
      this.#types.settle(typeUrl, known, request)
      return undefined
    }
    const claims = known === undefined ? Object.entries(request.initialResourceVersions) : []
    const error =
      checkTypeUrl(typeUrl, limits) ??
      checkNames([...subscribe, ...unsubscribe, ...claims.flat()], limits) ??
      (claims.length > limits.namesPerType ? exhausted(`at most ${limits.namesPerType} known versions`) : undefined) ??
      (known === undefined ? this.#types.rejection(typeUrl) : undefined)
    if (error !== undefined) return error
    const type = known ?? this.#types.add(typeUrl, new DeltaType())
    this.#types.settle(typeUrl, type, request)

    type.claim(claims)
    const claimed = new Set(claims.map(([name]) => name))
    // xDS protocol, "Wildcard subscription": a first request without names subscribes to everything.
    if (known === undefined && subscribe.length === 0) type.subscribe("*", false)
    for (const name of subscribe) type.subscribe(name, claimed.has(name))
    for (const name of unsubscribe) type.unsubscribe(name)
    type.prune()
    if (type.names.size > limits.namesPerType) return exhausted(`at most ${limits.namesPerType} names of a type`)
    const tooMany = checkTotal(
      [...this.#types.values()].map(({ size }) => size),
      limits,
    )
    const tooLarge =
      tooMany ?? this.#options.charge?.([...this.#types.values()].reduce((sum, { bytes }) => sum + bytes, 0))
    if (tooLarge !== undefined) return tooLarge
    if (known === undefined) type.expecting = true
    subscriber.watch(typeUrl, type.wildcard ? "*" : new Set(type.names), new Map(claims))
    return undefined
  }

  wake(typeUrl: string): void {
    this.#types.wake(typeUrl)
  }

  next(now: number): DeltaResponse | undefined {
    return this.#types.next(now, (typeUrl, type) => this.#respond(typeUrl, type, now))
  }

  get deadline(): number | undefined {
    return this.#types.deadline
  }

  #respond(typeUrl: string, type: DeltaType, now: number): DeltaResponse | undefined {
    const { subscriber } = this.#options
    const snapshot = subscriber.snapshot(typeUrl)
    if (snapshot === undefined) return undefined
    const { resources, removed, changes } = type.difference(snapshot)
    const { expecting } = type
    if (!expecting && type.wasRejected(changes)) return undefined
    if (!expecting && changes.size === 0) {
      // Changed and reverted between two checks: the client enforces this state already, so no acknowledgement is
      // needed.
      if (type.unanswered.empty) subscriber.acknowledged(typeUrl, snapshot.revision)
      return undefined
    }
    const { revision } = snapshot
    const nonce = this.#types.sent(type, { revision, at: now, changes })
    return { typeUrl, nonce, revision, resources, removed }
  }
}
