// SPDX-License-Identifier: Apache-2.0
// One stream of a connection, opened by either side (RFC 9113 section 5): the state of each side, the windows of both
// directions, and content that waits for the peer's window. It knows frames; its user knows what the messages mean.
//
// A stream is open, or one side has ended (`remoteEnded`, `localEnded`), or it is over: both sides have ended, or one
// has reset it. Once a stream is over, the connection has forgotten it, and its user gets no further events.

import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { ByteQueue } from "../sockets/byte-queue.js"
import type { OutputBuffer } from "../sockets/output-buffer.js"
import type { Field } from "./field.js"
import { type ErrorCode, FLAG, FRAME, MAX_FRAME_SIZE } from "./frame.js"
import { frameHeader } from "./frame-writer.js"
import type { ListError } from "./hpack/decoder.js"
import type { HpackEncoder } from "./hpack/encoder.js"

/** Lower-case names with their values, in order. */
type FieldPairs = readonly (readonly [name: string, value: string])[]

/** Receives the events of a stream. */
export interface StreamUser {
  /** The head of a response, of an informational response, or trailers. */
  onFields(list: readonly Field[], error: ListError | undefined, ended: boolean): void
  /** `bytes` are only valid until the call returns. The user calls `Stream.consumed` when it has processed them. */
  onContent(bytes: BorrowedBytes, from: number, to: number): void
  /** The peer has ended its side normally. */
  onEnd(): void
  /**
   * The stream ended early: by the peer, by an error of the peer, or with the connection. `onOver` was called before.
   */
  onReset(code: number): void
  /** Everything has been written, including the end of our side. */
  onSent(): void
  /** Called exactly once, however the stream ended. Nothing can be sent anymore. */
  onOver(): void
  /** `full` was true and is now false. */
  onWritable(): void
  /** Everything that arrived in one read has been delivered. */
  onPause(): void
}

/** The interface of the connection that a stream uses. */
export interface StreamHost {
  readonly output: OutputBuffer
  readonly encoder: HpackEncoder
  /** How many unprocessed bytes each stream may have. */
  readonly streamWindow: number
  sendWindow: number
  /** Whether the socket has so much output that streams should pause. */
  readonly full: boolean
  writeHeaders(stream: number, block: string, ended: boolean): void
  writeReset(stream: number, code: ErrorCode): void
  writeWindowUpdate(stream: number, increment: number): void
  /** Calls `sendWaiting` when the windows have grown. */
  block(stream: Stream): void
  consumed(bytes: number): void
  /** The stream is over. */
  forget(stream: Stream, resetByUs: boolean): void
  creditBudget(amount: number): void
  spendBudget(cost: number): void
}

/** Smaller content frames, although there is more content, are caused by the peer's small windows. */
const WORTHWHILE = 256
/** What a content frame credits to the budget: the peer answers with one or two window updates, and perhaps a PING. */
const FOR_DATA = 3

export class Stream {
  readonly id: number
  readonly connection: StreamHost
  user: StreamUser | undefined
  remoteEnded = false
  localEnded = false
  over = false
  /** The window that the peer grants us, and the one that we grant the peer. */
  sendWindow: number
  receiveWindow: number
  /** Bytes that have been consumed but not yet returned to the peer's window. */
  #credit = 0
  #waiting: ByteQueue | undefined
  /**
   * The end to be written once nothing is waiting. Not encoded yet, because header blocks must be encoded in the order
   * in which they are written.
   */
  #ending: { readonly trailers: FieldPairs | undefined } | undefined
  /** Bytes that have arrived and are not consumed. */
  #outstanding = 0
  /** Announced content that has not arrived; undefined if no length was announced. */
  expected: number | undefined
  /** Whether it received something in the current read. */
  touched = false
  /** Used by the connection: whether it is in the list of streams that wait for a window. */
  blocked = false
  #wasFull = false

  constructor(connection: StreamHost, id: number, sendWindow: number, receiveWindow: number) {
    this.connection = connection
    this.id = id
    this.sendWindow = sendWindow
    this.receiveWindow = receiveWindow
  }

  /**
   * Whether the user has to wait for `onWritable`. An exhausted window alone is no reason to wait: until there is
   * content for it, there is nothing that the peer could read, or be timed out for not reading.
   */
  get full(): boolean {
    const full = this.waiting > 0 || this.connection.full
    if (full) this.#wasFull = true
    return full
  }

  /** Called by the connection: notifies the user, if it is waiting. */
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

  /** `last`: nothing follows. */
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

  /** Called by the connection when windows have grown. Writes one frame; returns whether more is waiting. */
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

  /** Number of bytes that wait for a window. */
  get waiting(): number {
    return this.#waiting?.length ?? 0
  }

  get waits(): boolean {
    return this.waiting > 0 && this.sendWindow > 0
  }

  /** Called by the connection: bytes have arrived. */
  received(bytes: number): void {
    this.#outstanding += bytes
  }

  /** Returns consumed bytes to the peer's window. */
  consumed(bytes: number): void {
    if (this.over) return
    this.#outstanding -= bytes
    this.connection.consumed(bytes)
    if (this.remoteEnded) return
    this.#credit += bytes
    if (this.#credit * 2 < this.connection.streamWindow) return
    // The window already covers all content that is still to come.
    if (this.expected !== undefined && this.expected <= this.receiveWindow) return
    this.receiveWindow += this.#credit
    this.connection.writeWindowUpdate(this.id, this.#credit)
    this.#credit = 0
  }

  /** Resets the stream now. */
  reset(code: ErrorCode): void {
    if (this.over) return
    this.connection.writeReset(this.id, code)
    this.finish(true)
  }

  /** Called by the connection. */
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
    connection.output.text(frameHeader(to - from, FRAME.data, last ? FLAG.endStream : 0, this.id))
    connection.output.bytes(bytes, from, to)
    if (!more || to - from >= WORTHWHILE) connection.creditBudget(FOR_DATA)
    else connection.spendBudget(1)
    if (last) this.#endLocal()
  }

  #writeEnd(trailers: FieldPairs | undefined): void {
    const { connection } = this
    if (trailers !== undefined) {
      for (const [name, value] of trailers) connection.encoder.field(name, value)
      connection.writeHeaders(this.id, connection.encoder.finish(), true)
    } else connection.output.text(frameHeader(0, FRAME.data, FLAG.endStream, this.id))
    this.#endLocal()
  }
}
