// SPDX-License-Identifier: Apache-2.0
// Collects socket output, so that a head and its content, or the frames of many streams, leave in one system call.
// Small pieces become latin1 text, which the socket copies. With a large piece, everything goes into a chunk that is
// reused when the socket no longer needs it.

import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { type BorrowedBytes, copyOf } from "./borrowed-reads.js"

/** Content up to this size is added to the text. */
const SMALL = 4 * 1024
/** Text is written when it grows beyond this: the size of the stack buffer through which Node writes strings. */
const MAX_TEXT = 15 * 1024
/** Enough for everything that one read can bring, with the head before it and the frames around it. */
const CHUNK_BYTES = (64 + 16) * 1024
/** 10 MiB in total: a peer that does not read occupies its chunk for as long as it likes. */
const MAX_LENT = 128
/** Free chunks that are kept for later bodies. */
const MAX_FREE = 8
/** When more bytes than this wait in the socket, the sender should pause. */
const HIGH_WATER = 128 * 1024

export class OutputBuffer {
  readonly #socket: Socket
  /** Buffered output: text, or a chunk of which `#used` bytes are filled. */
  #text = ""
  #chunk: Buffer | undefined
  #used = 0
  #isDue = false

  constructor(socket: Socket) {
    this.#socket = socket
    // A TLS socket joins waiting writes in a new buffer, which costs more than encrypting them. Without this method it
    // encrypts them one after the other in place.
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

  /** Copies the bytes. */
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
      // INVARIANT: the callback runs when the socket no longer needs the bytes, even if it was destroyed before.
      else socket.write(chunk.subarray(0, used), lendChunk(chunk))
      return
    }
    // INVARIANT: an empty text is never written. Under TLS, Node uses an empty write as an opportunity to read, and
    // code that writes during a read would find its read buffer overwritten.
    if (this.#text === "") return
    const text = this.#text
    this.#text = ""
    if (!socket.destroyed) socket.write(text, "latin1")
  }

  /**
   * Flushes after everything that has arrived was read, so that content that arrives in small reads leaves in few
   * writes.
   */
  flushSoon(): void {
    if (this.#isDue || (this.#text === "" && this.#chunk === undefined)) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.flush()
    })
  }

  /** Whether to wait for the socket's `drain` before adding more. */
  get full(): boolean {
    // `writableNeedDrain` would stay true until the next tick, even if the write has already completed.
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

  /** The current chunk, or a new one that begins with the text; undefined if no chunk is available. */
  #begun(): Buffer | undefined {
    if (this.#chunk !== undefined) return this.#chunk
    const chunk = takeChunk()
    if (chunk === undefined) return undefined
    this.#used = chunk.write(this.#text, 0, "latin1")
    this.#text = ""
    this.#chunk = chunk
    return chunk
  }

  /** Writes the bytes after the buffered output. The socket may keep them for as long as it likes. */
  #write(bytes: Buffer): void {
    const socket = this.#socket
    socket.cork()
    this.flush()
    if (!socket.destroyed) socket.write(bytes)
    socket.uncork()
  }
}

// Chunks are reused once sockets no longer need them: a new buffer for each piece of a large body would cost as much as
// sending it.
const free: Buffer[] = []
let lent = 0

/** Undefined if too many chunks are with sockets. A chunk that is never returned costs only its memory. */
function takeChunk(): Buffer | undefined {
  return lent < MAX_LENT ? (free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)) : undefined
}

/** Lends the chunk to a socket. Returns the callback for the socket to return it. */
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

/** Number of chunks that are with sockets. */
export function lentChunks(): number {
  return lent
}
