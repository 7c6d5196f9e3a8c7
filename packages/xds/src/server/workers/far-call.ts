// SPDX-License-Identifier: Apache-2.0
// A call whose connection a worker holds. What is sent counts as waiting until the worker says that it has gone.

import type { Status } from "../../wire/status.js"
import type { Call, CallPeer, CallUser } from "../call.js"
import type { News, Order } from "./messages.js"

export type Opening = Extract<News, { readonly news: "call" }>

export class FarCall implements Call {
  readonly peer: CallPeer
  readonly path: string
  user: CallUser | undefined
  readonly #call: number
  readonly #tell: (order: Order) => void
  #authorization: string | undefined
  #sent = 0
  #taken = 0
  #finished = false
  #over = false

  constructor({ call, path, authorization }: Opening, peer: CallPeer, tell: (order: Order) => void) {
    this.#call = call
    this.path = path
    this.peer = peer
    this.#authorization = authorization
    this.#tell = tell
  }

  get over(): boolean {
    return this.#over
  }

  get full(): boolean {
    return this.waiting > 0
  }

  get waiting(): number {
    return this.#sent - this.#taken
  }

  takeAuthorization(): string | undefined {
    const authorization = this.#authorization
    this.#authorization = undefined
    return authorization
  }

  listen(): void {
    this.#order({ order: "listen", call: this.#call })
  }

  send(parts: readonly Uint8Array[]): void {
    if (this.#finished) return
    for (const { length } of parts) this.#sent += length
    this.#order({ order: "send", call: this.#call, parts })
  }

  finish(code: Status, message = ""): void {
    if (this.#finished) return
    this.#finished = true
    this.#order({ order: "finish", call: this.#call, code, message })
  }

  cut(): void {
    this.#order({ order: "cut", call: this.#call })
  }

  // From the worker.

  message(bytes: Buffer): void {
    if (!this.#finished) this.user?.message(bytes)
  }

  ended(): void {
    if (!this.#finished) this.user?.ended()
  }

  taken(bytes: number): void {
    this.#taken = bytes
    if (!this.full) this.user?.writable()
  }

  closed(): void {
    if (this.#over) return
    this.#over = true
    this.user?.closed()
  }

  #order(order: Order): void {
    if (!this.#over) this.#tell(order)
  }
}
