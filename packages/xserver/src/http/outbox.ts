// SPDX-License-Identifier: Apache-2.0
// What is to be written to a socket, gathered so that a head and a small body leave in one system call. Small pieces
// become latin1 text, which the socket copies by itself; large ones are written as bytes.

import type { Socket } from "node:net"

/** Content up to this size joins the text. */
const SMALL = 4 * 1024
/** Text is written when it grows beyond this: what fits the stack buffer Node writes strings through. */
const MAX_TEXT = 15 * 1024
/** Bytes waiting in the socket above which the other side is to pause. */
const HIGH_WATER = 128 * 1024

export class Outbox {
  readonly #socket: Socket
  #text = ""

  constructor(socket: Socket) {
    this.#socket = socket
  }

  text(part: string): void {
    this.#text += part
    if (this.#text.length > MAX_TEXT) this.flush()
  }

  /** `shared` bytes may be overwritten once this returns. */
  bytes(bytes: Buffer, from: number, to: number, shared: boolean): void {
    if (to - from <= SMALL) {
      this.text(bytes.toString("latin1", from, to))
      return
    }
    const socket = this.#socket
    socket.cork()
    this.flush()
    const part = bytes.subarray(from, to)
    // INVARIANT: a socket that cannot write at once keeps a reference, so it never gets a buffer that is read into.
    if (!socket.destroyed) socket.write(shared ? Buffer.from(part) : part)
    socket.uncork()
  }

  flush(): void {
    // INVARIANT: an empty text is never written. Node takes an empty write under TLS as the moment to read, and whoever writes
    // in the middle of a read would find the buffer it is reading from overwritten.
    if (this.#text === "") return
    const text = this.#text
    this.#text = ""
    if (!this.#socket.destroyed) this.#socket.write(text, "latin1")
  }

  /** Whether to wait for the socket's `drain` before giving it more. */
  get full(): boolean {
    // A write that was done at once has already left: `writableNeedDrain` would say otherwise until the next tick.
    return this.#socket.writableLength + this.#text.length > HIGH_WATER
  }
}
