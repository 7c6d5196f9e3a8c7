// SPDX-License-Identifier: Apache-2.0
// One request of an HTTP/2 connection: its frames become an exchange, and the exchange's response becomes frames. It
// ends with its stream.

import { type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { DownstreamOptions, DownstreamUser, Drain, Exchange, Responder } from "../http/downstream.js"
import { type Fields, pairsOf } from "../http/fields.js"
import type { RequestHead, ResponseHead } from "../http/head.js"
import { HTTP_ERRORS, type HttpError } from "../http/http-error.js"
import type { LocalReply } from "../http/local-reply.js"
import { keepsResponseTrailer } from "../http/response-fields.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import type { Field } from "./field.js"
import { ERROR } from "./frame.js"
import type { ListError } from "./hpack/decoder.js"
import { readRequestHead, readTrailers } from "./request-head.js"
import { isGrpc, keepsTrailerKind, writeLocalReply, writeResponseHead } from "./response-head.js"
import type { Stream, StreamUser } from "./stream.js"

/** The interface of the connection that the writer uses. */
export interface ClientConnection {
  flushSoon(): void
  /** Drains the connection: requests in flight may complete. */
  drain(how: Drain): void
  /** Charges a request that could not be parsed, which costs as much as a reset one. */
  chargeReset(): void
}

export class ResponseWriter<E extends Exchange> implements Responder, StreamUser, Expiring {
  readonly #connection: ClientConnection
  readonly #options: DownstreamOptions
  readonly #user: DownstreamUser<E>
  readonly #stream: Stream
  #exchange: E | undefined
  #trailers: Fields | undefined
  #grpc = false
  /** Content of the response still to come, if its length is known and no trailers follow. */
  #remaining = Number.POSITIVE_INFINITY
  /** The complete response has been passed to the stream. */
  #complete = false
  /** Bytes that have arrived and wait for the server to read. */
  #held = 0
  /** The client does not read its output. */
  #stalled = false
  deadline = 0
  place = UNWATCHED

  constructor(connection: ClientConnection, options: DownstreamOptions, user: DownstreamUser<E>, stream: Stream) {
    this.#connection = connection
    this.#options = options
    this.#user = user
    this.#stream = stream
  }

  /** Undefined if the request could not be parsed. */
  get exchange(): E | undefined {
    return this.#exchange
  }

  begin(list: readonly Field[], error: ListError | undefined, ended: boolean): void {
    const head = error ?? readRequestHead(list, ended)
    if (typeof head === "string") {
      this.#rejectUnread(head)
      return
    }
    const stream = this.#stream
    this.#grpc = isGrpc(head)
    if (head.framing.kind === "length") stream.expected = head.framing.length
    const exchange = this.#user.exchange(head, this)
    this.#exchange = exchange
    switch (exchange.begin()) {
      case "forwarded":
        this.#forward(exchange, head, ended)
        return
      case "rejected":
        exchange.reject()
        return
      case "closed":
        // The client may retry on another connection.
        stream.reset(ERROR.refused)
        this.#connection.drain("tunnels-too")
    }
  }

  // Events of the stream.

  onFields(list: readonly Field[], error: ListError | undefined, _ended: boolean): void {
    const trailers = error ?? readTrailers(list)
    if (typeof trailers !== "string") this.#trailers = trailers
    // The server has received half a request and must not take it for a complete one.
    else this.#stream.reset(ERROR.protocol)
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    const exchange = this.#exchange
    if (exchange === undefined || exchange.over) {
      this.#stream.consumed(to - from)
      return
    }
    exchange.content(bytes, from, to)
    if (exchange.full) this.#held += to - from
    else this.#stream.consumed(to - from)
    if (!this.#stalled) this.#touch()
  }

  onEnd(): void {
    this.#exchange?.requestEnd(this.#trailers)
    if (!this.#stalled) this.#touch()
  }

  onReset(): void {
    // `onOver` handles it.
  }

  onWritable(): void {
    this.#stalled = false
    this.#touch()
    this.#exchange?.drained()
  }

  onPause(): void {
    this.#exchange?.flush()
  }

  /** RFC 9113 section 8.1: the response is complete, so the rest of the request is not needed. */
  onSent(): void {
    this.#stream.reset(ERROR.none)
  }

  onOver(): void {
    this.#options.deadlines.unwatch(this)
    // If the client has the complete response, the server may end it in its own time.
    if (this.#complete) this.#exchange?.finish()
    else this.#exchange?.abort()
  }

  // Calls of the exchange.

  get full(): boolean {
    return this.#stream.full
  }

  informational(response: ResponseHead): void {
    this.#writeHead(response, false)
  }

  respond(response: ResponseHead): boolean {
    const { head } = this.#exchange ?? {}
    const { status, framing } = response
    // RFC 8441 section 5: a client that asked for a tunnel would take any success for one.
    if (head?.upgrade !== undefined && status >= 200 && status < 300) return false
    const empty = framing.kind === "none" && status !== 101
    const sized = framing.kind === "length" && !response.trailers
    if (sized) this.#remaining = framing.length
    this.#complete = empty || (sized && framing.length === 0)
    this.#writeHead(response, this.#complete)
    // The client may have sent everything before the exchange existed.
    if (status === 101 && this.#stream.remoteEnded) this.#exchange?.requestEnd(undefined)
    this.#touch()
    return true
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    const stream = this.#stream
    this.#remaining -= to - from
    this.#complete = this.#remaining <= 0
    stream.sendContent(bytes, from, to, this.#complete)
    if (stream.full) this.#stall()
    else this.#touch()
  }

  flush(): void {
    this.#connection.flushSoon()
  }

  end(trailers: Fields | undefined): void {
    const stream = this.#stream
    const pairs =
      trailers && pairsOf(trailers, (name, index) => keepsResponseTrailer(name) && keepsTrailerKind(trailers, index))
    this.#complete = true
    stream.sendEnd(pairs?.length === 0 ? undefined : pairs)
    this.#connection.flushSoon()
    // Only the client has to read what is left.
    if (!stream.over) this.#stall()
  }

  reply(reply: LocalReply): void {
    const exchange = this.#exchange
    if (this.#grpc) exchange?.replyStatus(200)
    this.#write(reply, exchange?.head.method ?? "")
  }

  breakOff(why: "failed" | "rejected"): void {
    this.#stream.reset(why === "failed" ? ERROR.internal : ERROR.cancel)
    this.#connection.flushSoon()
  }

  requestWritable(): void {
    const held = this.#held
    this.#held = 0
    if (held === 0) return
    this.#stream.consumed(held)
    this.#connection.flushSoon()
  }

  // Timeouts.

  expire(): void {
    const exchange = this.#exchange
    const idle = this.#grpc
      ? "streamIdleTimeoutMs"
      : this.#exchange?.head.upgrade === undefined
        ? "bodyIdleTimeoutMs"
        : "tunnelIdleTimeoutMs"
    this.#user.limitHit(this.#stalled ? "bodyIdleTimeoutMs" : idle)
    if (exchange === undefined || exchange.responseStarted) this.#stream.reset(ERROR.cancel)
    else exchange.timedOut(exchange.full ? "server" : "client")
    this.#connection.flushSoon()
  }

  #forward(exchange: E, head: RequestHead, ended: boolean): void {
    this.#options.deadlines.watch(this)
    this.#touch()
    if (ended && head.upgrade === undefined) exchange.requestEnd(undefined)
    exchange.flush()
  }

  #rejectUnread(error: HttpError): void {
    if (error === "head-too-large") this.#user.limitHit("headerBytes")
    if (error === "too-many-headers") this.#user.limitHit("headerLines")
    const { status, text } = HTTP_ERRORS[error]
    this.#write(this.#user.unreadable("h2", status, text), "")
    // RFC 9113 section 8.1.1: a malformed request is a stream error, and a response may be sent before the reset.
    if (status === 400) this.#stream.connection.writeReset(this.#stream.id, ERROR.protocol)
    this.#connection.chargeReset()
  }

  #write(reply: LocalReply, method: string): void {
    const stream = this.#stream
    const { encoder } = stream.connection
    const follows = writeLocalReply(encoder, reply, method, this.#grpc)
    stream.sendHeaders(encoder.finish(), !follows)
    if (follows) {
      const body = Buffer.from(reply.body, "latin1")
      stream.sendContent(body, 0, body.length, true)
    }
    this.#connection.flushSoon()
    if (!stream.over) this.#stall()
  }

  #writeHead(response: ResponseHead, ended: boolean): void {
    const { encoder } = this.#stream.connection
    if (this.#stream.over) return
    const known = encoder.blockOf(response)
    if (known === undefined) writeResponseHead(encoder, response)
    this.#stream.sendHeaders(known ?? encoder.finish(response.written && response), ended)
  }

  #stall(): void {
    if (this.#stalled) return
    const { deadlines, limits } = this.#options
    this.#stalled = true
    deadlines.watch(this)
    this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
  }

  /** Resets the timeout after activity. A client that only waits for the server has no timeout. */
  #touch(): void {
    const { deadlines, limits } = this.#options
    const { head } = this.#exchange ?? {}
    if (this.#grpc) this.deadline = deadlines.after(limits.streamIdleTimeoutMs)
    else if (head?.upgrade !== undefined) this.deadline = deadlines.after(limits.tunnelIdleTimeoutMs)
    else this.deadline = this.#stream.remoteEnded ? 0 : deadlines.after(limits.bodyIdleTimeoutMs)
  }
}
