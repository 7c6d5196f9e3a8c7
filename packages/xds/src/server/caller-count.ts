// SPDX-License-Identifier: Apache-2.0
// How many streams each caller has. One identity may have many replicas, so it is counted by address.

import type { OpenStream } from "./server-context.js"
import { exhausted, type StreamFault } from "./stream-fault.js"

export class CallerCount {
  readonly #limit: number
  readonly #counts = new Map<string, number>()
  readonly #keys = new Map<OpenStream, string>()

  constructor(limit: number) {
    this.#limit = limit
  }

  admit(stream: OpenStream): StreamFault | undefined {
    const { proven, peerAddress } = stream
    if (proven === undefined) return undefined
    const { trustDomain, namespace, serviceAccount } = proven.caller
    const key = [trustDomain, namespace, serviceAccount, peerAddress].join("/")
    const count = this.#counts.get(key) ?? 0
    if (count >= this.#limit) return exhausted(`at most ${this.#limit} streams of one caller`)
    this.#counts.set(key, count + 1)
    this.#keys.set(stream, key)
    return undefined
  }

  release(stream: OpenStream): void {
    const key = this.#keys.get(stream)
    if (key === undefined) return
    this.#keys.delete(stream)
    const left = (this.#counts.get(key) ?? 1) - 1
    if (left === 0) this.#counts.delete(key)
    else this.#counts.set(key, left)
  }
}
