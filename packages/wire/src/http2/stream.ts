// SPDX-License-Identifier: Apache-2.0
// One stream of a connection, whichever side opened it (RFC 9113 section 5): what each side has said, the windows of both
// directions, and content that waits for the peer's. Knows frames; what the messages mean is its user's to know.
//
// A stream is open, or one of its sides has ended (`remoteEnded`, `localEnded`), or it is over: both sides have ended,
// or one has reset it. Once it is over the connection does not know it any more, and its user gets no further events.

import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { ByteQueue } from "../sockets/byte-queue.js"
import type { Outbox } from "../sockets/output-buffer.js"
import type { Field } from "./field.js"
import { type ErrorCode, FLAG, FRAME, MAX_FRAME_SIZE } from "./frame.js"
import { frameHeader } from "./frame-writer.js"
import type { ListError } from "./hpack/decoder.js"
import type { HpackEncoder } from "./hpack/encoder.js"

/** Names in lower case with their values, in order. */
type FieldPairs = readonly (readonly [name: string, value: string])[]

/** Whose messages a stream carries. */
export interface StreamUser {
  /** A response's head, an informational one, or trailers. */
  onFields(list: readonly Field[], error: ListError | undefined, ended: boolean): void
  /** The bytes are the user's until it returns. It says when they are used up: `Stream.consumed`. */
  onContent(bytes: BorrowedBytes, from: number, to: number): void
  /** The peer has said all, in order. */
  onEnd(): void
  /** Over before its end: by the peer, by an error of it, or with the connection. `onOver` has come. */
  onReset(code: number): void
  /** All that was to be said has been written. */
  onSent(): void
  /** Comes once, however it ended; nothing can be said any more. */
  onOver(): void
  /** `full` was true and is no longer. */
  onWritable(): void
  /** All that came at once has been told. */
  onPause(): void
}

/** What a stream needs of its connection. */
export interface StreamHost {
  readonly outbox: Outbox
  readonly encoder: HpackEncoder
  /** What each stream may bring beyond what is used up. */
  readonly streamWindow: number
  sendWindow: number
  /** Whether so much waits in the socket that streams should pause. */
  readonly full: boolean
  writeHeaders(stream: number, block: string, ended: boolean): void
  writeReset(stream: number, code: ErrorCode): void
  writeWindowUpdate(stream: number, increment: number): void
  /** Tell it when the windows have grown. */
  block(stream: Stream): void
  consumed(bytes: number): void
  /** It is over. */
  forget(stream: Stream, resetByUs: boolean): void
  creditBudget(amount: number): void
  spendBudget(cost: number): void
}

/** Content that goes with less in a frame, though there is more, is a peer's making. */
const WORTHWHILE = 256
/** A frame of content is answered by a window's growth or two, and perhaps by a ping that measures. */
const FOR_DATA = 3

export class Stream {
  readonly id: number
  readonly connection: StreamHost
  user: StreamUser | undefined
  remoteEnded = false
  localEnded = false
  over = false
  /** What the peer lets us send, and what we let it. */
  sendWindow: number
  receiveWindow: number
  /** Used up by us, and not yet given back. */
  #credit = 0
  #waiting: ByteQueue | undefined
  /** The end to be written once nothing waits; not as a header block yet, which must be made in the order of writing. */
  #ending: { readonly trailers: FieldPairs | undefined } | undefined
  /** Has come, and is not used up. */
  #outstanding = 0
  /** Content that was announced and has not come; undefined where nothing was announced. */
  expected: number | undefined
  /** Whether it was given something in the read in hand. */
  touched = false
  /** For the connection: whether it is among those that wait for a window. */
  blocked = false
  #wasFull = false

  constructor(connection: StreamHost, id: number, sendWindow: number, receiveWindow: number) {
    this.connection = connection
    this.id = id
    this.sendWindow = sendWindow
    this.receiveWindow = receiveWindow
  }

  /**
   * Whether its user is to wait for `onWritable`. A window that is used up is no reason before there is something for it: who
   * would wait then has nothing that a peer could be given, or held to take in time.
   */
  get full(): boolean {
    const full = this.waiting > 0 || this.connection.full
    if (full) this.#wasFull = true
    return full
  }

  /** For the connection: tells the user, where it waits to be told. */
  writable(): void {
    if (!this.#wasFull || this.over || this.full) return
    this.#wasFull = false
    this.user?.onWritable()
  }

  /** `block` is a header block of the connection's encoder. */
  sendHeaders(block: string, ended: boolean): void {
    if (this.over || this.localEnded) return
    this.connection.writeHeaders(this.id, block, ended)
    if (ended) this.#endLocal()
  }

  /** With `last`, nothing follows. */
  sendContent(bytes: BorrowedBytes, from: number, to: number, last = false): void {
    if (this.over || this.localEnded || this.#ending !== undefined) return
    const { connection } = this
    let at = from
    while (at < to && this.waiting === 0) {
      const size = Math.min(to - at, MAX_FRAME_SIZE, this.sendWindow, connection.sendWindow)
      if (size <= 0) break
      this.#writeData(bytes, at, at + size, last && at + size === to, at + size < to)
      at += size
    }
    if (at === to) {
      if (last && !this.localEnded) this.sendEnd(undefined)
      return
    }
    this.#waiting ??= new ByteQueue()
    this.#waiting.add(bytes, at, to)
    connection.block(this)
    if (last) this.sendEnd(undefined)
  }

  sendEnd(trailers: FieldPairs | undefined): void {
    if (this.over || this.localEnded || this.#ending !== undefined) return
    if (this.waiting > 0) this.#ending = { trailers }
    else this.#writeEnd(trailers)
  }

  /** For the connection: windows have grown. Writes one frame's worth; answers whether more waits. */
  sendWaiting(): boolean {
    const waiting = this.#waiting
    if (waiting === undefined || this.over) return false
    const part = waiting.take(Math.min(MAX_FRAME_SIZE, this.sendWindow, this.connection.sendWindow))
    const more = waiting.length > 0
    const last = !more && this.#ending !== undefined && this.#ending.trailers === undefined
    if (part !== undefined) this.#writeData(part, 0, part.length, last, more)
    if (more) return this.sendWindow > 0
    if (this.#ending !== undefined && !this.localEnded) this.#writeEnd(this.#ending.trailers)
    return false
  }

  /** Bytes that wait for a window. */
  get waiting(): number {
    return this.#waiting?.length ?? 0
  }

  get waits(): boolean {
    return this.waiting > 0 && this.sendWindow > 0
  }

  /** For the connection: so much has come. */
  received(bytes: number): void {
    this.#outstanding += bytes
  }

  /** So much of what came is used up and may come again. */
  consumed(bytes: number): void {
    if (this.over) return
    this.#outstanding -= bytes
    this.connection.consumed(bytes)
    if (this.remoteEnded) return
    this.#credit += bytes
    if (this.#credit * 2 < this.connection.streamWindow) return
    // All that is still to come is already allowed.
    if (this.expected !== undefined && this.expected <= this.receiveWindow) return
    this.receiveWindow += this.#credit
    this.connection.writeWindowUpdate(this.id, this.#credit)
    this.#credit = 0
  }

  /** Ends it here and now. */
  reset(code: ErrorCode): void {
    if (this.over) return
    this.connection.writeReset(this.id, code)
    this.finish(true)
  }

  /** For the connection. */
  endRemote(): void {
    this.remoteEnded = true
    this.user?.onEnd()
    if (this.localEnded) this.finish(false)
  }

  finish(resetByUs: boolean): void {
    if (this.over) return
    this.over = true
    this.#waiting?.clear()
    this.connection.consumed(this.#outstanding)
    this.connection.forget(this, resetByUs)
    this.user?.onOver()
  }

  #endLocal(): void {
    this.localEnded = true
    if (this.remoteEnded) this.finish(false)
    else this.user?.onSent()
  }

  #writeData(bytes: BorrowedBytes, from: number, to: number, last: boolean, more: boolean): void {
    const { connection } = this
    this.sendWindow -= to - from
    connection.sendWindow -= to - from
    connection.outbox.text(frameHeader(to - from, FRAME.data, last ? FLAG.endStream : 0, this.id))
    connection.outbox.bytes(bytes, from, to)
    if (!more || to - from >= WORTHWHILE) connection.creditBudget(FOR_DATA)
    else connection.spendBudget(1)
    if (last) this.#endLocal()
  }

  #writeEnd(trailers: FieldPairs | undefined): void {
    const { connection } = this
    if (trailers !== undefined) {
      for (const [name, value] of trailers) connection.encoder.field(name, value)
      connection.writeHeaders(this.id, connection.encoder.finish(), true)
    } else connection.outbox.text(frameHeader(0, FRAME.data, FLAG.endStream, this.id))
    this.#endLocal()
  }
}
