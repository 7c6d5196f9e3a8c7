// SPDX-License-Identifier: Apache-2.0
// One request over HTTP/1.1, for the forwarder: write it, get the response, pause, cancel. It may wait for a
// connection, and may move to another one before a response begins; the forwarder notices neither.

import type { FieldPairs } from "../http/fields.js"
import { hasContent } from "../http/framing.js"
import type { OutgoingRequest } from "../http/outgoing-request.js"
import type { UpstreamCall, UpstreamListener } from "../http/upstream.js"
import { type BorrowedBytes, copyOf } from "../sockets/borrowed-reads.js"
import { ByteQueue } from "../sockets/byte-queue.js"
import type { OutputBuffer } from "../sockets/output-buffer.js"
import { chunkStart, lastChunk, pairLines } from "./chunk.js"
import { requestHeadText } from "./request-head.js"

/** The interface of the connection that the exchange is on. */
export interface ExchangeConnection {
  readonly output: OutputBuffer
  requestEnded(): void
  pause(): void
  resume(): void
  destroy(): void
}

/** The interface of the pool. */
export interface ExchangeQueue {
  /** Removes an exchange from the queue for connections. */
  forget(exchange: UpstreamExchange): void
  /** The exchange is over: its caller may have another one on a connection. */
  left(exchange: UpstreamExchange): void
}

// Idempotent methods (RFC 9110 section 9.2.2).
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

type Part = string | Buffer

/** Size of the pieces in which early bytes are written. */
const MAX_PART = 64 * 1024

export class UpstreamExchange implements UpstreamCall {
  readonly request: OutgoingRequest
  readonly listener: UpstreamListener
  readonly #queue: ExchangeQueue
  readonly #chunked: boolean
  /** Whether bytes are not the request's content: it has none, and the server has not switched protocols yet. */
  #bare: boolean
  /** Such bytes: an HTTP/2 client may send them right after its request for a tunnel. */
  #early: ByteQueue | undefined
  #connection: ExchangeConnection | undefined
  /** What was written before there was a connection. */
  #waiting: Part[] = []
  #retried = false
  #over = false
  /** The request has been written to its end. */
  ended = false
  /** Whether it counts towards its caller's requests on connections, until it is over. */
  placed = false
  /** When waiting for a connection times out, in the clock of `Deadlines`. */
  deadline = 0

  constructor(request: OutgoingRequest, listener: UpstreamListener, queue: ExchangeQueue) {
    this.#queue = queue
    this.#chunked = request.framing.kind === "chunked"
    this.#bare = request.framing.kind === "none"
    this.request = request
    this.listener = listener
  }

  text(part: string): void {
    if (this.#connection !== undefined) this.#connection.output.text(part)
    else if (!this.#over) this.#waiting.push(part)
  }

  bytes(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#connection !== undefined) this.#connection.output.bytes(bytes, from, to)
    else if (!this.#over) this.#waiting.push(copyOf(bytes, from, to))
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    // INVARIANT: a server that does not switch protocols gets none of these bytes, which it would parse as its next
    // request.
    if (this.#bare) {
      if (this.#over) return
      this.#early ??= new ByteQueue()
      this.#early.add(bytes, from, to)
      return
    }
    if (!this.#chunked) {
      this.bytes(bytes, from, to)
      return
    }
    this.text(chunkStart(to - from))
    this.bytes(bytes, from, to)
    this.text("\r\n")
  }

  finishRequest(trailers: FieldPairs): void {
    if (this.#chunked) this.text(lastChunk(pairLines(trailers)))
    this.end()
  }

  flush(): void {
    if (this.requestComplete) this.#connection?.output.flush()
    else this.#connection?.output.flushSoon()
  }

  /** The request is complete; after an upgrade, our side of the tunnel. */
  end(): void {
    if (this.ended) return
    this.ended = true
    this.#connection?.requestEnded()
  }

  /** Whether the server has all it needs to respond. A request for an upgrade consists only of its head. */
  get requestComplete(): boolean {
    return this.ended || this.request.upgrade !== undefined
  }

  get full(): boolean {
    if (this.#early !== undefined) return true
    return this.#connection === undefined ? !this.#over : this.#connection.output.full
  }

  pause(): void {
    this.#connection?.pause()
  }

  resume(): void {
    this.#connection?.resume()
  }

  abort(): void {
    if (this.#over) return
    const connection = this.#connection
    this.finish()
    if (connection === undefined) this.#queue.forget(this)
    else connection.destroy()
  }

  /** Called by the pool: the request is now assigned to this connection. */
  attach(connection: ExchangeConnection): void {
    this.deadline = 0
    this.#connection = connection
    connection.output.text(requestHeadText(this.request))
    for (const part of this.#waiting) {
      if (typeof part === "string") connection.output.text(part)
      else connection.output.bytes(part, 0, part.length)
    }
    this.#waiting = []
    if (this.requestComplete) connection.requestEnded()
  }

  /**
   * Called by the connection when the server has switched protocols: sends the early bytes. Returns whether there were
   * any.
   */
  switched(): boolean {
    const early = this.#early
    this.ended = false
    this.#bare = false
    this.#early = undefined
    for (let part = early?.take(MAX_PART); part !== undefined; part = early?.take(MAX_PART)) {
      this.bytes(part, 0, part.length)
    }
    this.flush()
    return early !== undefined
  }

  /** Called by the pool: the response is over, or there will be none. */
  finish(): void {
    if (this.#over) return
    this.#over = true
    this.#queue.left(this)
    this.#waiting = []
    this.#early = undefined
    // INVARIANT: an exchange that is over never touches its connection again, which may already serve another one.
    this.#connection = undefined
  }

  get over(): boolean {
    return this.#over
  }

  /**
   * RFC 9112 section 9.3.1: a server may close an idle connection while we write to it. If nothing came back and the
   * request is idempotent, it is retried once.
   */
  takeRetry(): boolean {
    const { method, framing, upgrade } = this.request
    const allowed = !this.#retried && !hasContent(framing) && upgrade === undefined && IDEMPOTENT.has(method)
    if (allowed) {
      this.#retried = true
      this.#connection = undefined
    }
    return allowed
  }
}
