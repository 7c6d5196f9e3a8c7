// SPDX-License-Identifier: Apache-2.0
// Counts what each caller uses: its streams, and the bytes of its subscriptions. One identity may have many replicas,
// so a caller is an identity at an address.

import { Quota, remoteKey } from "@merlon/wire/limits"
import type { ServerLimits } from "./limits.js"
import type { OpenStream } from "./server-context.js"
import { exhausted, type StreamError } from "./stream-error.js"

export class CallerCount {
  readonly #limits: Pick<ServerLimits, "streamsPerCaller" | "subscriptionBytesPerCaller">
  readonly #streams: Quota
  readonly #bytes = new Quota({ all: Number.POSITIVE_INFINITY })
  readonly #open = new Map<OpenStream, { readonly caller: string; bytes: number }>()

  constructor(limits: Pick<ServerLimits, "streamsPerCaller" | "subscriptionBytesPerCaller">) {
    this.#limits = limits
    this.#streams = new Quota({ all: Number.POSITIVE_INFINITY, each: limits.streamsPerCaller })
  }

  admit(stream: OpenStream): StreamError | undefined {
    const { authenticated, peerAddress } = stream
    if (authenticated === undefined) return undefined
    const { trustDomain, namespace, serviceAccount } = authenticated.caller
    const caller = [trustDomain, namespace, serviceAccount, remoteKey(peerAddress) ?? peerAddress].join("/")
    if (!this.#streams.take(caller)) return exhausted(`at most ${this.#limits.streamsPerCaller} streams per caller`)
    this.#open.set(stream, { caller, bytes: 0 })
    return undefined
  }

  /** Sets the number of bytes that the stream keeps. */
  charge(stream: OpenStream, bytes: number): StreamError | undefined {
    const own = this.#open.get(stream)
    if (own === undefined) return undefined
    this.#bytes.release(own.caller, own.bytes)
    // The bytes are kept already, so they count even above the limit; then the stream ends.
    this.#bytes.add(own.caller, bytes)
    own.bytes = bytes
    const { subscriptionBytesPerCaller: most } = this.#limits
    return this.#bytes.held(own.caller) > most
      ? exhausted(`the subscriptions of one caller may use at most ${most} bytes`)
      : undefined
  }

  release(stream: OpenStream): void {
    const own = this.#open.get(stream)
    if (own === undefined) return
    this.#open.delete(stream)
    this.#streams.release(own.caller)
    this.#bytes.release(own.caller, own.bytes)
  }
}
