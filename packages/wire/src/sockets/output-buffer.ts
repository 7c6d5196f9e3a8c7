// SPDX-License-Identifier: Apache-2.0
// Collects socket output, so that a head and its content, or the frames of many streams, leave in one system call. Small
// pieces become latin1 text, which the socket copies; with a large one, everything goes into a chunk that is reused when
// the socket is done with it.

import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { type BorrowedBytes, copyOf } from "./borrowed-reads.js"

/** Content up to this size joins the text. */
const SMALL = 4 * 1024
/** Text is written when it grows beyond this: what fits the stack buffer Node writes strings through. */
const MAX_TEXT = 15 * 1024
/** For all that one read can bring, with the head before it and the frames around it. */
const CHUNK_BYTES = (64 + 16) * 1024
/** 10 MiB in all: a peer that does not read keeps its chunk for as long as it likes. */
const MAX_LENT = 128
/** Chunks kept for the next body while none is sent. */
const MAX_FREE = 8
/** Bytes waiting in the socket above which the other side is to pause. */
const HIGH_WATER = 128 * 1024

export class Outbox {
  readonly #socket: Socket
  /** What is gathered: text, or a chunk with so much in it. */
  #text = ""
  #chunk: Buffer | undefined
  #used = 0
  #isDue = false

  constructor(socket: Socket) {
    this.#socket = socket
    // A TLS socket joins the writes that wait for another one in a new buffer, which costs more than encrypting them. Without this
    // method it encrypts one after the other from where they are.
    if (socket instanceof TLSSocket) Reflect.set(socket, "_writev", null)
  }

  text(part: string): void {
    const chunk = this.#chunk
    if (chunk !== undefined) {
      if (chunk.length - this.#used >= part.length) {
        this.#used += chunk.write(part, this.#used, "latin1")
        return
      }
      this.flush()
    }
    this.#text += part
    if (this.#text.length > MAX_TEXT) this.flush()
  }

  /** Copies. */
  bytes(bytes: BorrowedBytes, from: number, to: number): void {
    if (to - from <= SMALL && this.#chunk === undefined) {
      this.text(bytes.toString("latin1", from, to))
      return
    }
    this.#gather(bytes, from, to)
  }

  flush(): void {
    const chunk = this.#chunk
    const socket = this.#socket
    if (chunk !== undefined) {
      const used = this.#used
      this.#chunk = undefined
      this.#used = 0
      if (used === 0 || socket.destroyed) giveChunk(chunk)
      // INVARIANT: called back when the socket needs the bytes no more, also where it was destroyed before.
      else socket.write(chunk.subarray(0, used), lendChunk(chunk))
      return
    }
    // INVARIANT: an empty text is never written. Under TLS, Node uses an empty write as an opportunity to read. Code
    // that writes in the middle of a read would find its read buffer overwritten.
    if (this.#text === "") return
    const text = this.#text
    this.#text = ""
    if (!socket.destroyed) socket.write(text, "latin1")
  }

  /** After all that has arrived was read: content that comes in small reads leaves in few writes. */
  flushSoon(): void {
    if (this.#isDue || (this.#text === "" && this.#chunk === undefined)) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.flush()
    })
  }

  /** Whether to wait for the socket's `drain` before giving it more. */
  get full(): boolean {
    // A write that was done at once has already left: `writableNeedDrain` would say otherwise until the next tick.
    return this.#socket.writableLength + this.#text.length + this.#used > HIGH_WATER
  }

  #gather(bytes: BorrowedBytes, from: number, to: number): void {
    let at = from
    while (at < to) {
      const chunk = this.#begun()
      if (chunk === undefined) {
        this.#write(copyOf(bytes, at, to))
        return
      }
      const size = Math.min(to - at, chunk.length - this.#used)
      bytes.copy(chunk, this.#used, at, at + size)
      this.#used += size
      at += size
      if (this.#used === chunk.length) this.flush()
    }
  }

  /** The chunk in hand, or a new one that begins with the text; undefined where there is none to be had. */
  #begun(): Buffer | undefined {
    if (this.#chunk !== undefined) return this.#chunk
    const chunk = takeChunk()
    if (chunk === undefined) return undefined
    this.#used = chunk.write(this.#text, 0, "latin1")
    this.#text = ""
    this.#chunk = chunk
    return chunk
  }

  /** After what was gathered. The socket may keep the bytes for as long as it likes. */
  #write(bytes: Buffer): void {
    const socket = this.#socket
    socket.cork()
    this.flush()
    if (!socket.destroyed) socket.write(bytes)
    socket.uncork()
  }
}

// Chunks are used again once the socket has let go of them: a new buffer for each piece of a large body would cost as much as
// sending it.
const free: Buffer[] = []
let lent = 0

/** Undefined where too many are with sockets. Losing one loses nothing but its memory. */
function takeChunk(): Buffer | undefined {
  return lent < MAX_LENT ? (free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)) : undefined
}

/** To a socket, which calls back what this returns once it has let go of it. */
function lendChunk(chunk: Buffer): () => void {
  lent++
  return () => {
    lent--
    giveChunk(chunk)
  }
}

function giveChunk(chunk: Buffer): void {
  if (free.length < MAX_FREE) free.push(chunk)
}

/** How many are with sockets. */
export function lentChunks(): number {
  return lent
}
