// SPDX-License-Identifier: Apache-2.0
// Waits for a new connection's first bytes to classify it. The classifier takes over the socket in the same call. Until
// then nothing is read beyond what it needs, and time is limited. INVARIANT: once there is a byte, a timeout can only
// end a connection, never classify it.

import type { Socket } from "node:net"
import { type BorrowedBytes, copyOf, readIntoShared } from "@merlon/wire"
import type { ByteBudget, ByteHolder } from "@merlon/wire/limits"

export interface SniffOptions {
  readonly timeoutMs: number
  readonly unjudged: ByteBudget
  /** Whether every possible next owner of the socket reads into the shared buffer too, or reads nothing. */
  readonly shareReads: boolean
  /** Returns the number of bytes to call again with, or undefined once it has taken over the socket. */
  readonly judge: (bytes: Buffer, ended: boolean) => number | undefined
  /** Takes over if no byte arrived in time. */
  readonly silent: () => void
  /** Takes over if there are bytes but their protocol is unclear. */
  readonly undecided: () => void
  /** The connection was closed, because all connections together hold too many bytes. */
  readonly evicted: () => void
  /** Called before any of them takes over, and when the socket is gone. */
  readonly over: () => void
}

export class Sniff implements ByteHolder {
  readonly socket: Socket
  readonly #options: SniffOptions
  readonly #timer: NodeJS.Timeout
  heldBytes = 0
  heldSince = 0
  #chunks: Buffer[] = []
  #length = 0
  #wanted = 0
  #ended = false
  readonly #shared: boolean

  constructor(socket: Socket, options: SniffOptions) {
    this.socket = socket
    this.#options = options
    this.#shared = options.shareReads && readIntoShared(socket, this.#onBytes)
    this.#timer = setTimeout(() => this.#timeUp(), options.timeoutMs)
  }

  /** The bytes received so far. */
  get bytes(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks, this.#length)]
    return this.#chunks[0] ?? EMPTY
  }

  /** Some connections can be classified without any bytes. */
  start(): void {
    this.reconsider()
  }

  /** Calls the judge again, because the mode or the port changed. */
  reconsider(): void {
    if (this.#ended) return
    // The judge may hand over the socket, which must be paused and free of our listeners.
    this.#detach()
    const wanted = this.#options.judge(this.bytes, false)
    if (wanted === undefined) {
      this.#finish()
      return
    }
    this.#wanted = wanted
    this.#attach()
  }

  readonly #onBytes = (bytes: BorrowedBytes, length: number): void => {
    this.#onData(copyOf(bytes, 0, length))
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    this.#options.unjudged.setHeld(this, this.#length)
    if (this.#length >= this.#wanted) this.reconsider()
  }

  // The client sends nothing more. The next owner gets a socket that has ended (`readableEnded`).
  readonly #onEnd = (): void => {
    this.#close()
    if (this.#length === 0) this.socket.destroy()
    else if (this.#options.judge(this.bytes, true) !== undefined) this.#options.undecided()
  }

  /** All callers together hold too many bytes, and this one the most. */
  evict(): void {
    this.#chunks = []
    this.#length = 0
    this.#close()
    this.socket.destroy()
    this.#options.evicted()
  }

  readonly #onClose = (): void => {
    this.#close()
  }

  #timeUp(): void {
    this.#close()
    if (this.#length === 0) this.#options.silent()
    else this.#options.undecided()
  }

  #close(): void {
    this.#detach()
    this.#finish()
  }

  #finish(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#options.unjudged.setHeld(this, 0)
    this.#options.over()
  }

  #attach(): void {
    if (!this.#shared) this.socket.on("data", this.#onData)
    this.socket.on("end", this.#onEnd)
    this.socket.on("close", this.#onClose)
    this.socket.resume()
  }

  #detach(): void {
    this.socket.pause()
    this.socket.off("data", this.#onData)
    this.socket.off("end", this.#onEnd)
    this.socket.off("close", this.#onClose)
  }
}

const EMPTY = Buffer.alloc(0)
