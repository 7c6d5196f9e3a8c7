// SPDX-License-Identifier: Apache-2.0
// Reads the frames of one HTTP/2 connection, from either side (RFC 9113): dispatches frames to streams, answers
// SETTINGS and PING, and counts useless work that a peer causes. The user of the connection decides what a new stream
// means and when a connection is closed.

import type { Socket } from "node:net"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import type { OutputBuffer } from "../sockets/output-buffer.js"
import type { ClosedStreams } from "./closed-streams.js"
import type { ConnectionOptions, ConnectionUser } from "./connection-user.js"
import type { Field } from "./field.js"
import { ERROR, type ErrorCode, FLAG, FRAME, MAX_WINDOW } from "./frame.js"
import { FOUND, FrameReader } from "./frame-reader.js"
import { pingText, SETTINGS_ACK } from "./frame-writer.js"
import { HeaderSection } from "./header-section.js"
import { HpackDecoder } from "./hpack/decoder.js"
import type { HpackEncoder } from "./hpack/encoder.js"
import { type PeerSettings, readSettings } from "./settings.js"
import type { Stream } from "./stream.js"
import type { StreamTable } from "./stream-table.js"

/** The connection whose frames are read. */
export interface FrameHost {
  readonly socket: Socket
  readonly output: OutputBuffer
  readonly encoder: HpackEncoder
  readonly streams: StreamTable
  readonly closed: ClosedStreams
  readonly peerSettings: PeerSettings
  /** Nothing is read or written anymore. */
  readonly failed: boolean
  /** Whether the socket has so much output that no more should be written. */
  readonly full: boolean
  /** The last stream that the peer opened. */
  lastStream: number
  sendWindow: number
  /** A connection error (RFC 9113 section 5.4.1). */
  fail(code: ErrorCode, debug: string): void
  /** A stream error (RFC 9113 section 5.4.2). */
  streamError(stream: Stream, code: ErrorCode): void
  /** Charges the peer's abuse budget for a frame without effect. */
  spendBudget(cost: number): void
  creditBudget(amount: number): void
  /** Accounts for content that has no reader anymore. */
  consumed(bytes: number): void
  /** False if content exceeds the connection's window. */
  takeWindow(bytes: number): boolean
  resizeWindows(difference: number): boolean
  sendBlocked(): void
}

/** An honest peer changes its settings a few times at most, and each change may resize every window. */
const SETTINGS_COST = 10
/** What a request credits to the budget: it may come with a PRIORITY and a PING. */
const FOR_REQUEST = 5

export class IncomingFrames {
  readonly #connection: FrameHost
  readonly #user: ConnectionUser
  readonly #server: boolean
  readonly #reader = new FrameReader()
  readonly #decoder: HpackDecoder
  readonly #section: HeaderSection
  readonly #touched: Stream[] = []
  #settingsReceived = false
  /** The stream whose DATA is being read, if it has a reader. */
  #data: Stream | undefined
  /** Input is paused until the peer has read its output. */
  #waits = false
  /** The peer has acknowledged our settings. */
  acknowledged = false

  constructor(connection: FrameHost, options: ConnectionOptions, user: ConnectionUser) {
    this.#connection = connection
    this.#user = user
    this.#server = options.server
    this.#decoder = new HpackDecoder(options.headerBytes, options.headerLines)
    this.#section = new HeaderSection(options.headerBytes)
  }

  /** Bytes of incomplete frames and header sections. */
  get held(): number {
    return this.#reader.held + this.#section.held
  }

  // Reading.

  receive(bytes: BorrowedBytes, from: number, to: number): void {
    const reader = this.#reader
    let at = from
    while (!this.#connection.failed) {
      const found = reader.read(bytes, at, to)
      at = reader.next
      if (found === FOUND.nothing) break
      if (found === FOUND.data) this.#content()
      else this.#take(found)
    }
    const { length } = this.#touched
    for (let index = 0; index < length; index++) {
      const stream = this.#touched[index]
      if (stream === undefined) continue
      stream.touched = false
      stream.user?.onPause()
    }
    this.#touched.length = 0
    reader.releaseBytes()
    this.#connection.output.flush()
    // Heads, resets and PING answers have no flow control: a client that sends requests and never reads would make us
    // buffer them all. A server is always read: it may wait for us to read before it reads itself.
    if (this.#server && !this.#connection.failed && this.#connection.full) {
      this.#waits = true
      this.#connection.socket.pause()
    }
  }

  /** The peer has read its output. */
  resume(): void {
    if (!this.#waits) return
    this.#waits = false
    if (!this.#connection.failed) this.#connection.socket.resume()
  }

  #take(found: (typeof FOUND)[keyof typeof FOUND]): void {
    const reader = this.#reader
    if (found === FOUND.error) {
      this.#connection.fail(reader.error, "malformed frame")
      return
    }
    // RFC 9113 section 3.4: the first frame is SETTINGS. Section 6.10: no other frame may interrupt a header section.
    const { type } = reader
    const inOrder = this.#settingsReceived || (type === FRAME.settings && (reader.flags & FLAG.ack) === 0)
    const inSection = !this.#section.open || (type === FRAME.continuation && reader.stream === this.#section.stream)
    if (!inOrder || !inSection) {
      this.#connection.fail(ERROR.protocol, "frame out of order")
      return
    }
    if (found === FOUND.frame) this.#frame(type)
    else if (found === FOUND.dataHeader) this.#dataBegins()
    else if (found === FOUND.dataEnd) this.#dataEnds()
    else this.#connection.spendBudget(1)
  }

  #frame(type: number): void {
    switch (type) {
      case FRAME.headers:
      case FRAME.continuation:
        this.#headers(type)
        return
      case FRAME.priority:
        this.#priority()
        return
      case FRAME.reset:
        this.#reset()
        return
      case FRAME.settings:
        this.#settings()
        return
      case FRAME.ping:
        this.#ping()
        return
      case FRAME.goaway:
        this.#goaway()
        return
      case FRAME.windowUpdate:
        this.#windowUpdate()
        return
      default:
        // PUSH_PROMISE: never allowed from a client, and from a server only if push is enabled (RFC 9113 section 8.4).
        this.#connection.fail(ERROR.protocol, "push is not enabled")
    }
  }

  // Header sections.

  #headers(type: number): void {
    const reader = this.#reader
    const section = this.#section
    const error = type === FRAME.headers ? section.begin(reader) : section.continue(reader)
    if (error !== ERROR.none) {
      this.#connection.fail(error, "malformed header section")
      return
    }
    if (type === FRAME.continuation) this.#connection.spendBudget(1)
    if (section.open || this.#connection.failed) return
    const list = this.#decoder.decode(section.bytes, section.start, section.end)
    section.releaseBytes()
    if (list === undefined) {
      this.#connection.fail(ERROR.compression, "header block cannot be read")
      return
    }
    this.#fields(section.stream, list, section.ended)
  }

  #fields(id: number, list: readonly Field[], ended: boolean): void {
    const stream = this.#connection.streams.get(id)
    if (stream !== undefined) {
      this.#fieldsOf(stream, list, ended)
      return
    }
    const peers = this.#server === (id % 2 === 1)
    if (id > this.#connection.lastStream && peers && this.#server) {
      this.#connection.lastStream = id
      this.#connection.creditBudget(FOR_REQUEST)
      this.#user.opened(id, list, this.#decoder.error, ended)
      return
    }
    switch (this.#connection.closed.how(id)) {
      case "reset":
        // The peer may not have received our reset yet.
        this.#connection.spendBudget(1)
        return
      case "ended":
        this.#connection.fail(ERROR.streamClosed, "headers on a closed stream")
        return
      case "unknown":
        if (this.#server || this.#isIdle(id))
          this.#connection.fail(ERROR.protocol, "headers on a stream that cannot be opened")
        else this.#connection.spendBudget(1)
    }
  }

  #fieldsOf(stream: Stream, list: readonly Field[], ended: boolean): void {
    if (stream.remoteEnded) {
      this.#connection.streamError(stream, ERROR.streamClosed)
      return
    }
    // RFC 9113 section 8.1: a second header section from a client is the trailers, and must end the stream.
    if (this.#server && !ended) {
      this.#connection.streamError(stream, ERROR.protocol)
      return
    }
    if (ended && (stream.expected ?? 0) > 0) {
      this.#connection.streamError(stream, ERROR.protocol)
      return
    }
    this.#touch(stream)
    stream.user?.onFields(list, this.#decoder.error, ended)
    if (ended && !stream.over) stream.endRemote()
  }

  // Content.

  #dataBegins(): void {
    const { stream: id, length, flags } = this.#reader
    this.#data = undefined
    if (!this.#connection.takeWindow(length)) {
      this.#connection.fail(ERROR.flowControl, "more content than the connection's window")
      return
    }
    if (length === 0 && (flags & FLAG.endStream) === 0) this.#connection.spendBudget(1)
    const stream = this.#connection.streams.get(id)
    if (stream === undefined || stream.remoteEnded) {
      this.#dataAstray(id, stream)
      return
    }
    stream.receiveWindow -= length
    if (stream.receiveWindow < 0) {
      this.#connection.streamError(stream, ERROR.flowControl)
      return
    }
    stream.received(length)
    this.#data = stream
  }

  #dataAstray(id: number, stream: Stream | undefined): void {
    const { length } = this.#reader
    this.#connection.consumed(length)
    if (stream !== undefined) {
      this.#connection.streamError(stream, ERROR.streamClosed)
      return
    }
    // RFC 9113 section 5.1: the stream was never opened.
    const how = this.#connection.closed.how(id)
    if (id === 0 || (how === "unknown" && this.#isIdle(id)))
      this.#connection.fail(ERROR.protocol, "content on an idle stream")
    else if (how === "ended") this.#connection.fail(ERROR.streamClosed, "content on a closed stream")
    // The peer may not have received our reset yet.
    else if (length === 0) this.#connection.spendBudget(1)
  }

  #content(): void {
    const { bytes, start, end } = this.#reader
    const stream = this.#data
    if (stream === undefined || stream.over) return
    if (stream.expected !== undefined) {
      stream.expected -= end - start
      if (stream.expected < 0) {
        // Fail closed: on a connection behind us the rest could be parsed as the next request.
        this.#connection.streamError(stream, ERROR.protocol)
        return
      }
    }
    // The frame may have begun in an earlier read.
    this.#touch(stream)
    stream.user?.onContent(bytes, start, end)
  }

  #dataEnds(): void {
    const stream = this.#data
    const { flags } = this.#reader
    this.#data = undefined
    if (stream === undefined || stream.over) return
    // Padding and its length byte are consumed on arrival.
    const padding = this.#reader.overhead
    if (padding > 0) stream.consumed(padding)
    if ((flags & FLAG.endStream) === 0) return
    this.#touch(stream)
    if ((stream.expected ?? 0) > 0) this.#connection.streamError(stream, ERROR.protocol)
    else stream.endRemote()
  }

  // Other frames.

  #priority(): void {
    const { bytes, start, stream } = this.#reader
    // Priorities are deprecated (RFC 9113 section 5.3.1), but a stream cannot depend on itself.
    if (stream === 0 || (bytes.readUInt32BE(start) & 0x7fffffff) === stream) {
      this.#connection.fail(ERROR.protocol, "malformed priority")
    } else {
      this.#connection.spendBudget(1)
    }
  }

  #reset(): void {
    const { bytes, start, stream: id } = this.#reader
    const stream = this.#connection.streams.get(id)
    if (stream === undefined) {
      if (id === 0 || this.#isIdle(id)) this.#connection.fail(ERROR.protocol, "reset of an idle stream")
      else this.#connection.spendBudget(1)
      return
    }
    const code = bytes.readUInt32BE(start)
    const begun = !stream.localEnded
    stream.finish(false)
    stream.user?.onReset(code)
    if (begun) this.#user.chargeReset()
  }

  #settings(): void {
    const { bytes, start, end, flags, stream } = this.#reader
    if (stream !== 0) {
      this.#connection.fail(ERROR.protocol, "settings of a stream")
      return
    }
    if ((flags & FLAG.ack) !== 0) {
      this.acknowledged = true
      return
    }
    this.#settingsReceived = true
    const before = this.#connection.peerSettings.initialWindowSize
    const error = readSettings(this.#connection.peerSettings, bytes, start, end, !this.#server)
    if (
      error !== ERROR.none ||
      !this.#connection.resizeWindows(this.#connection.peerSettings.initialWindowSize - before)
    ) {
      this.#connection.fail(error === ERROR.none ? ERROR.flowControl : error, "malformed settings")
      return
    }
    this.#connection.encoder.limitTable(this.#connection.peerSettings.headerTableSize)
    this.#connection.output.text(SETTINGS_ACK)
    this.#connection.spendBudget(SETTINGS_COST)
    this.#user.settingsReceived()
    this.#connection.sendBlocked()
  }

  #ping(): void {
    const { bytes, start, end, flags, stream } = this.#reader
    if (stream !== 0) {
      this.#connection.fail(ERROR.protocol, "ping of a stream")
    } else if ((flags & FLAG.ack) !== 0) {
      this.#connection.spendBudget(1)
      this.#user.pinged()
    } else {
      this.#connection.output.text(pingText(true, bytes.toString("latin1", start, end)))
      this.#connection.spendBudget(1)
    }
  }

  #goaway(): void {
    const { bytes, start, stream } = this.#reader
    if (stream !== 0) this.#connection.fail(ERROR.protocol, "goaway of a stream")
    else {
      this.#connection.spendBudget(1)
      this.#user.goingAway(bytes.readUInt32BE(start) & 0x7fffffff)
    }
  }

  #windowUpdate(): void {
    const { bytes, start, stream: id } = this.#reader
    const increment = bytes.readUInt32BE(start) & 0x7fffffff
    this.#connection.spendBudget(1)
    if (this.#connection.failed) return
    if (id === 0) {
      this.#connection.sendWindow += increment
      if (increment === 0) this.#connection.fail(ERROR.protocol, "a window grows by nothing")
      else if (this.#connection.sendWindow > MAX_WINDOW) this.#connection.fail(ERROR.flowControl, "a window too large")
      else this.#connection.sendBlocked()
      return
    }
    const stream = this.#connection.streams.get(id)
    if (stream === undefined) {
      if (this.#isIdle(id)) this.#connection.fail(ERROR.protocol, "window of an idle stream")
      return
    }
    stream.sendWindow += increment
    if (increment === 0) this.#connection.streamError(stream, ERROR.protocol)
    else if (stream.sendWindow > MAX_WINDOW) this.#connection.streamError(stream, ERROR.flowControl)
    else {
      this.#connection.sendBlocked()
      stream.writable()
    }
  }

  #isIdle(id: number): boolean {
    return this.#server === (id % 2 === 1) ? id > this.#connection.lastStream : this.#user.isIdleStream(id)
  }

  #touch(stream: Stream): void {
    if (stream.touched) return
    stream.touched = true
    this.#touched.push(stream)
  }
}
