// SPDX-License-Identifier: Apache-2.0
// What each caller uses: its streams, and the bytes that its subscriptions make us keep. One identity may have many replicas,
// so a caller is an identity at an address.

import { remoteKey } from "@merlon/wire/limits"
import type { ServerLimits } from "./limits.js"
import type { OpenStream } from "./server-context.js"
import { exhausted, type StreamFault } from "./stream-fault.js"

interface Usage {
  streams: number
  bytes: number
}

export class CallerCount {
  readonly #limits: Pick<ServerLimits, "streamsPerCaller" | "subscriptionBytesPerCaller">
  readonly #callers = new Map<string, Usage>()
  readonly #streams = new Map<OpenStream, { readonly key: string; bytes: number }>()

  constructor(limits: Pick<ServerLimits, "streamsPerCaller" | "subscriptionBytesPerCaller">) {
    this.#limits = limits
  }

  admit(stream: OpenStream): StreamFault | undefined {
    const { proven, peerAddress } = stream
    if (proven === undefined) return undefined
    const { streamsPerCaller } = this.#limits
    const { trustDomain, namespace, serviceAccount } = proven.caller
    const key = [trustDomain, namespace, serviceAccount, remoteKey(peerAddress) ?? peerAddress].join("/")
    const usage = this.#callers.get(key) ?? { streams: 0, bytes: 0 }
    if (usage.streams >= streamsPerCaller) return exhausted(`at most ${streamsPerCaller} streams of one caller`)
    usage.streams++
    this.#callers.set(key, usage)
    this.#streams.set(stream, { key, bytes: 0 })
    return undefined
  }

  /** The stream now keeps so many bytes. */
  charge(stream: OpenStream, bytes: number): StreamFault | undefined {
    const own = this.#streams.get(stream)
    const usage = own && this.#callers.get(own.key)
    if (own === undefined || usage === undefined) return undefined
    usage.bytes += bytes - own.bytes
    own.bytes = bytes
    const { subscriptionBytesPerCaller: most } = this.#limits
    return usage.bytes > most ? exhausted(`the subscriptions of one caller may take ${most} bytes`) : undefined
  }

  release(stream: OpenStream): void {
    const own = this.#streams.get(stream)
    const usage = own && this.#callers.get(own.key)
    if (own === undefined || usage === undefined) return
    this.#streams.delete(stream)
    usage.streams--
    usage.bytes -= own.bytes
    if (usage.streams === 0) this.#callers.delete(own.key)
  }
}
