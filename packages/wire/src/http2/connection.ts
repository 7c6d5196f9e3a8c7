// SPDX-License-Identifier: Apache-2.0
// The streams of one HTTP/2 connection and what they share: the output, both connection windows, and the budget for
// frames without effect. `IncomingFrames` reads; this class writes.

import type { Socket } from "node:net"
import { TokenBucket } from "../limits/token-bucket.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { OutputBuffer } from "../sockets/output-buffer.js"
import { ClosedStreams } from "./closed-streams.js"
import type { ConnectionOptions, ConnectionUser } from "./connection-user.js"
import { DEFAULT_WINDOW, ERROR, type ErrorCode, MAX_WINDOW } from "./frame.js"
import { goawayText, headersText, resetText, windowUpdateText } from "./frame-writer.js"
import { HpackEncoder } from "./hpack/encoder.js"
import { type FrameHost, IncomingFrames } from "./incoming-frames.js"
import { defaultSettings, type PeerSettings } from "./settings.js"
import { Stream, type StreamHost } from "./stream.js"
import { StreamTable } from "./stream-table.js"

export class Connection implements StreamHost, FrameHost {
  readonly #user: ConnectionUser
  readonly #incoming: IncomingFrames
  readonly output: OutputBuffer
  readonly encoder: HpackEncoder
  readonly socket: Socket
  readonly streamWindow: number
  readonly streams = new StreamTable()
  readonly peerSettings: PeerSettings
  readonly closed = new ClosedStreams()
  readonly #connectionWindow: number
  readonly #abuseBudget: TokenBucket
  /** Streams with content that waits for the connection's window or their own. */
  readonly #blocked: Stream[] = []
  /** What the peer may still send, and the part that has been consumed but not yet returned to the peer. */
  #receiveWindow: number
  #credit = 0
  #wasFull = false
  sendWindow = DEFAULT_WINDOW
  /** The last stream that the peer opened. */
  lastStream = 0
  /** Nothing is read or written anymore. */
  failed = false

  constructor(options: ConnectionOptions, user: ConnectionUser) {
    this.#user = user
    this.#incoming = new IncomingFrames(this, options, user)
    this.socket = options.socket
    this.output = new OutputBuffer(options.socket)
    this.encoder = new HpackEncoder(options.writtenTable)
    this.streamWindow = options.streamWindow
    this.peerSettings = defaultSettings(options.assumedStreams)
    this.#abuseBudget = new TokenBucket(options.abuseBudget.burst, options.abuseBudget.perSecond, performance.now())
    this.#connectionWindow = options.connectionWindow
    this.#receiveWindow = options.connectionWindow
  }

  /** Whether the socket has so much output that streams should pause. */
  get full(): boolean {
    const { full } = this.output
    if (full) this.#wasFull = true
    return full
  }

  // Calls of the connection's user.

  receive(bytes: BorrowedBytes, from: number, to: number): void {
    this.#incoming.receive(bytes, from, to)
  }

  /** Bytes of incomplete frames and header sections. */
  get held(): number {
    return this.#incoming.held
  }

  /** Whether the peer has acknowledged our settings. */
  get acknowledged(): boolean {
    return this.#incoming.acknowledged
  }

  // Calls of streams.

  writeHeaders(stream: number, block: string, ended: boolean): void {
    this.output.text(headersText(stream, block, ended))
  }

  writeReset(stream: number, code: ErrorCode): void {
    this.output.text(resetText(stream, code))
  }

  writeWindowUpdate(stream: number, increment: number): void {
    this.output.text(windowUpdateText(stream, increment))
  }

  block(stream: Stream): void {
    if (stream.blocked) return
    stream.blocked = true
    this.#blocked.push(stream)
  }

  consumed(bytes: number): void {
    this.#credit += bytes
    if (this.#credit * 2 < this.#connectionWindow || this.failed) return
    this.#receiveWindow += this.#credit
    this.writeWindowUpdate(0, this.#credit)
    this.#credit = 0
  }

  creditBudget(amount: number): void {
    this.#abuseBudget.credit(amount)
  }

  /** Charges a frame without effect. Fail closed: a peer that only causes work loses its connection. */
  spendBudget(cost: number): void {
    if (!this.failed && !this.#abuseBudget.take(performance.now(), cost))
      this.fail(ERROR.calm, "too many frames that bring nothing")
  }

  forget(stream: Stream, resetByUs: boolean): void {
    this.streams.delete(stream.id)
    this.#unblock(stream)
    this.closed.add(stream.id, resetByUs)
    this.#user.finished(stream)
  }

  open(id: number): Stream {
    const stream = new Stream(this, id, this.peerSettings.initialWindowSize, this.streamWindow)
    this.streams.add(stream)
    return stream
  }

  /** Writes buffered output: at once if there is only one stream, otherwise together with the other streams' output. */
  flushSoon(): void {
    if (this.streams.size <= 1) this.output.flush()
    else this.output.flushSoon()
  }

  /** The socket has sent what was waiting. */
  drained(): void {
    // Reads before streams write again, so that the peer's frames are processed however much the streams have to write.
    this.#incoming.resume()
    if (!this.#wasFull || this.full) return
    this.#wasFull = false
    for (const stream of this.streams.all()) stream.writable()
  }

  /** A connection error (RFC 9113 section 5.4.1). */
  fail(code: ErrorCode, debug: string): void {
    if (this.failed) return
    this.#user.failing?.(debug)
    this.goaway(this.lastStream, code, debug)
    this.abandon()
    this.#user.closing(code)
  }

  goaway(lastStream: number, code: ErrorCode, debug = ""): void {
    this.output.text(goawayText(lastStream, code, debug))
    this.output.flush()
  }

  /** The connection is gone: finishes all streams that were open. */
  abandon(): void {
    this.failed = true
    for (const stream of this.streams.all()) {
      stream.finish(false)
      stream.user?.onReset(ERROR.internal)
    }
    this.#blocked.length = 0
  }

  /**
   * A stream error (RFC 9113 section 5.4.2): the stream is over, the others continue. It is charged to the peer like a
   * reset.
   */
  streamError(stream: Stream, code: ErrorCode): void {
    stream.reset(code)
    stream.user?.onReset(code)
    this.#user.chargeReset()
  }

  /** Sends waiting content, one frame per stream in turn, as far as the connection's window allows. */
  sendBlocked(): void {
    let sent = true
    while (sent && this.sendWindow > 0 && !this.failed) {
      sent = false
      for (const stream of [...this.#blocked]) {
        if (this.sendWindow <= 0) return
        if (!stream.waits) continue
        sent = true
        if (stream.sendWaiting()) continue
        if (stream.waiting > 0) continue
        this.#unblock(stream)
        stream.writable()
      }
    }
  }

  #unblock(stream: Stream): void {
    if (!stream.blocked) return
    stream.blocked = false
    this.#blocked.splice(this.#blocked.indexOf(stream), 1)
  }

  /** RFC 9113 section 6.9.2: the windows of open streams change too, and may become negative. */
  resizeWindows(difference: number): boolean {
    if (difference === 0) return true
    for (const stream of this.streams.all()) {
      stream.sendWindow += difference
      if (stream.sendWindow > MAX_WINDOW) return false
    }
    return true
  }

  /** Takes received content from the window. False if it exceeds the window. */
  takeWindow(bytes: number): boolean {
    this.#receiveWindow -= bytes
    return this.#receiveWindow >= 0
  }
}
