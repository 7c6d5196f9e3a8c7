// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection of a client. Requests are processed one after the other, each by an exchange; early bytes are
// buffered. The phases below are its whole state: what is read next, how long that may take, who may close it, and how
// it closes.

import type { Socket } from "node:net"
import { type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { DownstreamConnection, DownstreamOptions, DownstreamUser, Drain, Exchange } from "../http/downstream.js"
import { HTTP_ERRORS, type HttpError } from "../http/http-error.js"
import type { ByteHolder } from "../limits/byte-budget.js"
import { type BorrowedBytes, copyOf, openWire, type Wire, type WireUser } from "../sockets/borrowed-reads.js"
import { OutputBuffer } from "../sockets/output-buffer.js"
import { BodyReader } from "./body-reader.js"
import { HeadScanner } from "./head-scanner.js"
import { parseRequestHead } from "./request-head.js"
import { type ClientConnection, ResponseWriter } from "./response-writer.js"
import { STEP } from "./step.js"

/**
 * `head`: waits for a request or reads its head. `body`: reads the content of the current request. `waiting`: the
 * request is complete, its response is not. `unread`: another request may be waiting, but the client does not read its
 * responses. `discard`: the response is complete, and the rest of a small request is skipped. `tunnel`: switched to
 * another protocol; bytes are copied. `linger`: has sent everything, and keeps reading for a moment so that a reset
 * does not destroy the last bytes (RFC 9112 section 9.6). `closed`: gone.
 */
type Phase = "head" | "body" | "waiting" | "unread" | "discard" | "tunnel" | "linger" | "closed"

/** How long an idle connection that drains gradually stays open for a last request. */
const DRAIN_IDLE_MS = 2_000
/** Content of a rejected request up to this size is skipped; for more, the connection is closed. */
const MAX_DISCARD = 64 * 1024
const LINGER_MS = 1_000
/** Idle time before the kernel sends TCP keep-alive probes to a half-closed peer. */
const PROBE_AFTER_MS = 10_000

export class Http1Downstream<E extends Exchange>
  implements DownstreamConnection<E>, WireUser, ClientConnection, ByteHolder, Expiring
{
  readonly output: OutputBuffer
  readonly #options: DownstreamOptions
  readonly #user: DownstreamUser<E>
  readonly #writer: ResponseWriter
  readonly #wire: Wire
  readonly #scanner: HeadScanner
  readonly #reader: BodyReader
  #phase: Phase = "head"
  #exchange: E | undefined
  /** Bytes that arrived before their turn. */
  #backlog: Buffer | undefined
  #paused = true
  #peerEnded = false
  #draining = false
  /** Set by a drain that closes tunnels: a request in flight may complete, but a tunnel would not end. */
  #endsTunnels = false
  requestDone = false
  deadline = 0
  heldBytes = 0
  heldSince = 0
  place = UNWATCHED

  constructor(socket: Socket, options: DownstreamOptions, user: DownstreamUser<E>) {
    const { limits, deadlines } = options
    this.#options = options
    this.#user = user
    this.#writer = new ResponseWriter(this)
    this.#scanner = new HeadScanner(limits.headerBytes, true)
    this.#reader = new BodyReader(limits.headerBytes, limits.headerLines, false)
    this.#wire = openWire(socket, this)
    this.output = new OutputBuffer(socket)
    this.deadline = deadlines.after(limits.headerTimeoutMs)
    deadlines.watch(this)
  }

  start(head: Buffer): void {
    const { socket } = this.#wire
    if (head.length > 0) this.#feed(head, 0, head.length)
    if (socket.destroyed) this.onClose()
    else if (socket.readableEnded) this.onEnd()
    else this.resumeReading()
  }

  exchanges(): readonly E[] {
    return this.#exchange === undefined ? [] : [this.#exchange]
  }

  drain(how: Drain): void {
    const isIdle = this.#phase === "head" && !this.#scanner.begun
    if (how === "gradually") {
      if (isIdle) this.deadline = this.#options.deadlines.after(DRAIN_IDLE_MS)
      return
    }
    this.#draining = true
    if (how === "tunnels-too") {
      this.#endsTunnels = true
      if (this.#phase === "tunnel") this.destroy()
    }
    if (isIdle) this.#close()
  }

  /** Closes the connection because all connections together hold too many bytes, and this one the most. */
  evict(): void {
    this.#user.evicted()
    this.#scanner.reset()
    this.#backlog = undefined
    this.destroy()
  }

  destroy(): void {
    this.#wire.socket.destroy()
  }

  // Events of the socket.

  onBytes(bytes: BorrowedBytes, length: number): void {
    this.#feed(bytes, 0, length)
  }

  onEnd(): void {
    this.#peerEnded = true
    switch (this.#phase) {
      case "head":
        if (this.#scanner.begun) this.destroy()
        else this.#close()
        return
      case "waiting":
        // The client may be gone for good, and only a TCP probe can tell before the response is written.
        this.#wire.socket.setKeepAlive(true, PROBE_AFTER_MS)
        return
      case "unread":
        // Requests that it sent before it ended its side are answered once there is room.
        return
      case "tunnel":
        this.#endRequest()
        return
      case "body":
        this.destroy()
        return
      case "discard":
        this.#close()
        return
      case "linger":
        if (this.#wire.socket.writableFinished) this.destroy()
        return
      case "closed":
    }
  }

  onDrain(): void {
    if (this.#phase === "tunnel") this.touch()
    if (this.#phase === "unread") this.#readOn()
    this.#exchange?.drained()
  }

  onClose(): void {
    if (this.#phase === "closed") return
    this.#phase = "closed"
    const { deadlines, unread } = this.#options
    deadlines.unwatch(this)
    this.#user.closed()
    unread.setHeld(this, 0)
    this.#exchange?.abort()
    this.#exchange = undefined
  }

  // Calls of the exchange.

  /** Whether the connection may carry another request, apart from conditions of the current request. */
  get mayReuse(): boolean {
    if (this.#draining || this.#phase === "closed") return false
    // Requests that were pipelined behind this one are answered too; the last response says that the connection closes.
    if (this.#user.draining && this.#backlog === undefined) return false
    return !this.#peerEnded || this.#backlog !== undefined
  }

  /** Whether the rest of the current request is small enough to be skipped. */
  get canFinishRequest(): boolean {
    if (this.#exchange === undefined || this.requestDone) return true
    // RFC 9110 section 10.1.1: a client that expects 100 may or may not send the content after a final response.
    return !this.#exchange.head.expectsContinue && this.#reader.remaining <= MAX_DISCARD
  }

  resumeReading(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#wire.socket.resume()
  }

  exchangeOver(keepAlive: boolean): void {
    this.#exchange = undefined
    if (!keepAlive || this.#draining) {
      this.#close()
      return
    }
    this.resumeReading()
    if (this.requestDone) {
      this.#awaitHead()
      this.#feedBacklog()
    } else {
      this.#phase = "discard"
      this.touch()
    }
  }

  beginTunnel(): void {
    this.#phase = "tunnel"
    // The client now sends again, until it ends its side.
    this.requestDone = false
    // Fail closed: a tunnel that was requested before the drain would outlive it.
    if (this.#endsTunnels) {
      this.destroy()
      return
    }
    this.touch()
    this.resumeReading()
    const early = this.#backlog
    this.#backlog = undefined
    if (early !== undefined) this.#feed(early, 0, early.length)
    if (this.#peerEnded) this.#endRequest()
  }

  /** After an upgrade: the client has ended its side. */
  #endRequest(): void {
    this.requestDone = true
    this.#writer.tunnelEnd()
  }

  /** The server has ended its side. */
  endTunnel(): void {
    this.output.flush()
    this.#wire.socket.end()
  }

  // Reading.

  #feed(bytes: BorrowedBytes, from: number, to: number): void {
    let at = from
    while (at >= 0) at = this.#step(bytes, at, to)
    this.#countHeld()
    const exchange = this.#exchange
    if (exchange === undefined) return
    exchange.flush()
    if (exchange.full && (this.#phase === "body" || this.#phase === "tunnel")) this.#pauseReading()
  }

  #countHeld(): void {
    const held = this.#scanner.held + this.#reader.held + (this.#backlog?.length ?? 0)
    if (held !== this.heldBytes && this.#phase !== "closed") this.#options.unread.setHeld(this, held)
  }

  /** Returns where to continue; -1 if there is nothing to continue with. */
  #step(bytes: BorrowedBytes, at: number, to: number): number {
    switch (this.#phase) {
      case "head":
        if (at < to && this.output.full) return this.#awaitReader(at)
        return at < to ? this.#readHead(bytes, at, to) : -1
      case "body":
        return this.#readBody(bytes, at, to)
      case "waiting":
      case "unread":
        if (at < to) this.#keep(bytes, at, to)
        return -1
      case "discard":
        return this.#discard(bytes, at, to)
      case "tunnel":
        this.#exchange?.content(bytes, at, to)
        this.touch()
        return -1
      case "linger":
      case "closed":
        return -1
    }
  }

  /** A client that sends requests and does not read the responses would make us buffer them all. */
  #awaitReader(at: number): number {
    this.#phase = "unread"
    this.touch()
    this.#pauseReading()
    return at
  }

  /** The client has read its responses. */
  #readOn(): void {
    this.resumeReading()
    this.#awaitHead()
    this.#feedBacklog()
  }

  #readHead(bytes: BorrowedBytes, at: number, to: number): number {
    const { limits, deadlines, tunnels = false } = this.#options
    const scanner = this.#scanner
    const fresh = !scanner.begun
    const after = scanner.scan(bytes, at, to)
    if (after === -1) {
      if (fresh) this.deadline = deadlines.after(limits.headerTimeoutMs)
      return -1
    }
    const head =
      after === -2 ? scanner.error : parseRequestHead(scanner.text, limits.headerLines, scanner.printable, tunnels)
    if (typeof head === "string") {
      this.#malformed(head)
      return -1
    }
    const exchange = this.#user.exchange(head, this.#writer)
    this.#exchange = exchange
    this.requestDone = false
    this.#writer.begin(exchange)
    this.#reader.begin(head.framing)
    switch (exchange.begin()) {
      case "forwarded":
        this.#phase = "body"
        if (head.framing.kind !== "none") this.touch()
        return after
      case "rejected":
        return this.#reject(exchange, bytes, after, to)
      case "closed":
        // Close as if the connection had never been accepted.
        exchange.abort()
        this.#exchange = undefined
        this.destroy()
        return -1
    }
  }

  #readBody(bytes: BorrowedBytes, at: number, to: number): number {
    const exchange = this.#exchange
    if (exchange === undefined) return -1
    const step = this.#reader.read(bytes, at, to)
    if (step === STEP.data) {
      exchange.content(bytes, this.#reader.start, this.#reader.end)
      this.touch()
      return this.#reader.next
    }
    if (step === STEP.done) {
      this.#phase = "waiting"
      this.requestDone = true
      if (!exchange.responseStarted) this.deadline = 0
      exchange.requestEnd(this.#reader.trailers)
      return this.#reader.next
    }
    if (step === STEP.error) {
      // The server has received half a request and must not take it for a complete one.
      if (exchange.responseStarted) this.destroy()
      else exchange.rejectContent(this.#reader.error)
    }
    return -1
  }

  /** Responds to a request that is not forwarded, after skipping what has arrived of its content. */
  #reject(exchange: E, bytes: BorrowedBytes, from: number, to: number): number {
    const next = this.#skip(bytes, from, to)
    this.requestDone = next >= 0
    exchange.reject()
    return next
  }

  #discard(bytes: BorrowedBytes, at: number, to: number): number {
    const next = this.#skip(bytes, at, to)
    if (next < 0) {
      this.touch()
      return -1
    }
    this.#awaitHead()
    return next
  }

  /** Returns where the request ends; -1 if it does not end in these bytes. */
  #skip(bytes: BorrowedBytes, from: number, to: number): number {
    let at = from
    for (;;) {
      const step = this.#reader.read(bytes, at, to)
      at = this.#reader.next
      if (step === STEP.done) return at
      if (step !== STEP.data) return -1
    }
  }

  #keep(bytes: BorrowedBytes, from: number, to: number): void {
    const { limits } = this.#options
    const part = copyOf(bytes, from, to)
    const backlog = this.#backlog === undefined ? part : Buffer.concat([this.#backlog, part])
    this.#backlog = backlog
    // A client that sends ahead without end waits in the kernel's buffers, not in ours.
    if (backlog.length < limits.headerBytes && countHeads(backlog) < limits.pipelinedRequests) return
    this.#user.limitHit("pipelinedRequests")
    this.#pauseReading()
  }

  #feedBacklog(): void {
    const backlog = this.#backlog
    if (backlog === undefined) return
    this.#backlog = undefined
    this.#feed(backlog, 0, backlog.length)
    // The client has ended its side, so an incomplete request stays incomplete.
    if (this.#peerEnded) this.onEnd()
  }

  #pauseReading(): void {
    if (this.#paused) return
    this.#paused = true
    this.#wire.socket.pause()
  }

  #awaitHead(): void {
    const { deadlines, limits } = this.#options
    this.#phase = "head"
    this.deadline = deadlines.after(this.#user.draining ? DRAIN_IDLE_MS : limits.keepAliveTimeoutMs)
    if (this.#draining || (this.#peerEnded && this.#backlog === undefined)) this.#close()
  }

  // Timeouts.

  /** Resets the idle timeout after activity. */
  touch(): void {
    const { deadlines, limits } = this.#options
    // A client that does not read its output is blocking, not idle, and gets the shorter timeout.
    const isIdleTunnel = this.#phase === "tunnel" && !this.output.full
    const limit = isIdleTunnel ? limits.tunnelIdleTimeoutMs : limits.bodyIdleTimeoutMs
    this.deadline = deadlines.after(limit)
  }

  expire(): void {
    switch (this.#phase) {
      case "head":
        if (this.#scanner.begun) this.#tooSlow()
        else this.#close()
        return
      case "body":
        this.#stalled()
        return
      case "waiting":
      case "unread":
      case "discard":
        this.#user.limitHit("bodyIdleTimeoutMs")
        this.destroy()
        return
      case "tunnel":
        this.#user.limitHit(this.output.full ? "bodyIdleTimeoutMs" : "tunnelIdleTimeoutMs")
        this.destroy()
        return
      case "linger":
        this.destroy()
        return
      case "closed":
    }
  }

  #tooSlow(): void {
    this.#user.limitHit("headerTimeoutMs")
    this.#answerUnread(408, "the request's headers took too long")
  }

  #stalled(): void {
    this.#user.limitHit("bodyIdleTimeoutMs")
    const exchange = this.#exchange
    if (exchange === undefined || exchange.responseStarted) {
      this.destroy()
      return
    }
    this.#draining = true
    exchange.timedOut(exchange.full ? "server" : "client")
  }

  // Closing.

  #malformed(error: HttpError): void {
    if (error === "head-too-large") this.#user.limitHit("headerBytes")
    if (error === "too-many-headers") this.#user.limitHit("headerLines")
    const { status, text } = HTTP_ERRORS[error]
    this.#answerUnread(status, text)
  }

  /** Responds to bytes that are not a valid request, and closes: it is unknown where the next request would begin. */
  #answerUnread(status: number, body: string): void {
    this.#writer.replyUnread(this.#user.unreadable("http/1.1", status, body))
    this.#close()
  }

  #close(): void {
    if (this.#phase === "closed" || this.#phase === "linger") return
    const { socket } = this.#wire
    const { deadlines, limits } = this.#options
    this.#phase = "linger"
    this.#backlog = undefined
    this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
    this.output.flush()
    socket.end(() => {
      // Everything has been sent only now; until here a slow client had its time to read.
      this.deadline = deadlines.after(LINGER_MS)
      if (this.#peerEnded) socket.destroy()
    })
    this.resumeReading()
  }
}

const HEAD_END = Buffer.from("\r\n\r\n")

/** How many requests are waiting; exact if they have no content. */
function countHeads(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(HEAD_END); at >= 0; at = bytes.indexOf(HEAD_END, at + HEAD_END.length)) count++
  return count
}
