// SPDX-License-Identifier: Apache-2.0
// Holds a fresh connection until its first bytes tell what it is. Whoever judges takes the socket over in the same
// call; until then nothing is read beyond what the judge asked for, and time is limited. INVARIANT: once there is a byte,
// time never decides what a connection is, only that it ends.

import type { Socket } from "node:net"

export class Sniff {
  readonly socket: Socket
  readonly #judge: (bytes: Buffer, ended: boolean) => number | undefined
  readonly #silent: () => void
  readonly #undecided: () => void
  readonly #over: () => void
  readonly #timer: NodeJS.Timeout
  #chunks: Buffer[] = []
  #length = 0
  #wanted = 0
  #ended = false

  /**
   * `judge` answers how many bytes it wants to be asked again with, or undefined once it has taken the socket over;
   * `silent` takes over when time is up without a byte, `undecided` where there are some and nobody can tell what they
   * are; `over` is called before any of them.
   */
  constructor(
    socket: Socket,
    timeoutMs: number,
    judge: (bytes: Buffer, ended: boolean) => number | undefined,
    silent: () => void,
    undecided: () => void,
    over: () => void,
  ) {
    this.socket = socket
    this.#judge = judge
    this.#silent = silent
    this.#undecided = undecided
    this.#over = over
    this.#timer = setTimeout(() => this.#timeUp(), timeoutMs)
  }

  /** What has come so far. */
  get bytes(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks, this.#length)]
    return this.#chunks[0] ?? EMPTY
  }

  /** Some connections need no bytes to be judged. */
  start(): void {
    this.reconsider()
  }

  /** Asks again, because what the answer depends on has changed. */
  reconsider(): void {
    if (this.#ended) return
    // The judge may hand the socket to its owner, who must find it quiet and free of our listeners.
    this.#detach()
    const wanted = this.#judge(this.bytes, false)
    if (wanted === undefined) {
      this.#finish()
      return
    }
    this.#wanted = wanted
    this.#attach()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length >= this.#wanted) this.reconsider()
  }

  // Nothing more will come. The owner finds a socket that has ended (`readableEnded`).
  readonly #onEnd = (): void => {
    this.#close()
    if (this.#length === 0) this.socket.destroy()
    else if (this.#judge(this.bytes, true) !== undefined) this.#undecided()
  }

  readonly #onClose = (): void => {
    this.#close()
  }

  #timeUp(): void {
    this.#close()
    if (this.#length === 0) this.#silent()
    else this.#undecided()
  }

  #close(): void {
    this.#detach()
    this.#finish()
  }

  #finish(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#over()
  }

  #attach(): void {
    this.socket.on("data", this.#onData)
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
