// SPDX-License-Identifier: Apache-2.0
// One request of an HTTP/2 connection: its frames become an exchange, and the exchange's response becomes frames. It is
// over with its stream, whatever happened.

import {
  HTTP2_ERROR as ERROR,
  type Http2Field as Field,
  isGrpc,
  keepsTrailerKind,
  type HeaderListFault as ListFault,
  readHttp2Request,
  readHttp2Trailers,
  type Http2Stream as Stream,
  type Http2StreamUser as StreamUser,
  writeHttp2Reply,
  writeHttp2Response,
} from "@merlon/wire"
import type { LocalReply, RequestHead, ResponseHead } from "@merlon/wire/http"
import {
  type Expiring,
  type Fields,
  HTTP_FAULTS,
  type HttpFault,
  keepsResponseTrailer,
  pairsOf,
  UNWATCHED,
} from "@merlon/wire/http"
import type { Admission, Judged } from "../enforcement/gate.js"
import type { Caller } from "../http/caller.js"
import { Exchange, type Responder, unreadable } from "../http/exchange.js"
import { TOO_SLOW, UPSTREAM_REPLIES } from "../http/local-reply.js"

/** What a request has to tell its connection. */
export interface ClientConnection {
  flushSoon(): void
  /** The mode no longer takes it: requests that are under way may end. */
  unwelcome(): void
  /** A request that could not be read, which costs like one that was thrown away. */
  wasted(): void
}

export class ResponseWriter implements Responder, StreamUser, Expiring {
  readonly #connection: ClientConnection
  readonly #caller: Caller
  readonly #stream: Stream
  #exchange: Exchange | undefined
  #trailers: Fields | undefined
  #grpc = false
  /** Content of the response still to come, where its length is known and nothing follows it. */
  #remaining = Number.POSITIVE_INFINITY
  /** All of the response has been given to the stream. */
  #complete = false
  /** Came, and waits for the application to take it. */
  #held = 0
  /** The client does not take what there is for it. */
  #stalled = false
  deadline = 0
  place = UNWATCHED

  constructor(connection: ClientConnection, caller: Caller, stream: Stream) {
    this.#connection = connection
    this.#caller = caller
    this.#stream = stream
  }

  begin(list: readonly Field[], fault: ListFault | undefined, ended: boolean): void {
    const head = fault ?? readHttp2Request(list, ended)
    if (typeof head === "string") {
      this.#refuseUnread(head)
      return
    }
    const stream = this.#stream
    this.#grpc = isGrpc(head)
    if (head.framing.kind === "length") stream.expected = head.framing.length
    const exchange = new Exchange(this.#caller, this, head)
    this.#exchange = exchange
    if (ended) exchange.requestDone = true
    switch (exchange.begin()) {
      case "forwarded":
        this.#forward(exchange, head, ended)
        return
      case "refused":
        exchange.refuse()
        return
      case "closed":
        // The mode no longer takes this connection. The client may try again on another one, with a certificate.
        stream.reset(ERROR.refused)
        this.#connection.unwelcome()
    }
  }

  // From the stream.

  onFields(list: readonly Field[], fault: ListFault | undefined, _ended: boolean): void {
    const trailers = fault ?? readHttp2Trailers(list)
    if (typeof trailers !== "string") this.#trailers = trailers
    // The application has been given half a request; it must not take it for a whole one.
    else this.#stream.reset(ERROR.protocol)
  }

  onContent(bytes: Buffer, from: number, to: number, shared: boolean): void {
    const exchange = this.#exchange
    if (exchange === undefined || exchange.over) {
      this.#stream.consumed(to - from)
      return
    }
    exchange.content(bytes, from, to, shared)
    if (exchange.full) this.#held += to - from
    else this.#stream.consumed(to - from)
    if (!this.#stalled) this.#touch()
  }

  onEnd(): void {
    this.#exchange?.requestEnd(this.#trailers)
    if (!this.#stalled) this.#touch()
  }

  onReset(): void {
    // `onOver` has seen to everything.
  }

  onWritable(): void {
    this.#stalled = false
    this.#touch()
    this.#exchange?.drained()
  }

  onPause(): void {
    this.#exchange?.flush()
  }

  /** RFC 9113 section 8.1: the answer is complete, and the rest of the request is of no interest. */
  onSent(): void {
    this.#stream.reset(ERROR.none)
  }

  onOver(): void {
    this.#caller.services.deadlines.unwatch(this)
    // Where the client has all of the response, the application is left to end it in its own time.
    if (this.#complete) this.#exchange?.finish()
    else this.#exchange?.abort()
  }

  judgeAgain(): void {
    this.#exchange?.judgeAgain()
  }

  endByChange(admission: Admission<Judged>): void {
    this.#exchange?.endByChange(admission)
  }

  // From the exchange.

  get full(): boolean {
    return this.#stream.full
  }

  informational(response: ResponseHead): void {
    this.#writeHead(response, false)
  }

  respond(response: ResponseHead): boolean {
    const { head } = this.#exchange ?? {}
    const { status, framing } = response
    // RFC 8441 section 5: to whoever asked for a tunnel, any success would say that there is one.
    if (head?.upgrade !== undefined && status >= 200 && status < 300) return false
    const empty = framing.kind === "none" && status !== 101
    const sized = framing.kind === "length" && !response.trailers
    if (sized) this.#remaining = framing.length
    this.#complete = empty || (sized && framing.length === 0)
    this.#writeHead(response, this.#complete)
    // It may have said all before there was anybody to tell.
    if (status === 101 && this.#stream.remoteEnded) this.#exchange?.requestEnd(undefined)
    this.#touch()
    return true
  }

  content(bytes: Buffer, from: number, to: number): void {
    const stream = this.#stream
    this.#remaining -= to - from
    this.#complete = this.#remaining <= 0
    stream.sendContent(bytes, from, to, true, this.#complete)
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
    // What is left waits for the client alone.
    if (!stream.over) this.#stall()
  }

  reply(reply: LocalReply): void {
    const exchange = this.#exchange
    if (this.#grpc) exchange?.answeredAs(200)
    this.#write(reply, exchange?.head.method ?? "")
  }

  breakOff(why: "failed" | "refused"): void {
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

  // Time.

  expire(): void {
    const { meters } = this.#caller.services
    const exchange = this.#exchange
    const idle = this.#grpc
      ? "streamIdleTimeoutMs"
      : this.#exchange?.head.upgrade === undefined
        ? "bodyIdleTimeoutMs"
        : "tunnelIdleTimeoutMs"
    meters.limitHit(this.#stalled ? "bodyIdleTimeoutMs" : idle)
    if (exchange === undefined || exchange.responseStarted) this.#stream.reset(ERROR.cancel)
    // Either the client does not send, or the application does not take it.
    else exchange.reply(exchange.full ? UPSTREAM_REPLIES["response-timeout"] : TOO_SLOW)
    this.#connection.flushSoon()
  }

  #forward(exchange: Exchange, head: RequestHead, ended: boolean): void {
    this.#caller.services.deadlines.watch(this)
    this.#touch()
    if (ended && head.upgrade === undefined) exchange.requestEnd(undefined)
    exchange.flush()
  }

  #refuseUnread(fault: HttpFault): void {
    const { meters } = this.#caller.services
    if (fault === "head-too-large") meters.limitHit("headerBytes")
    if (fault === "too-many-headers") meters.limitHit("headerLines")
    const { status, text } = HTTP_FAULTS[fault]
    this.#write(unreadable(this.#caller, "h2", status, text), "")
    // RFC 9113 section 8.1.1: a malformed request is a stream error, and may be answered before.
    if (status === 400) this.#stream.connection.writeReset(this.#stream.id, ERROR.protocol)
    this.#connection.wasted()
  }

  #write(reply: LocalReply, method: string): void {
    const stream = this.#stream
    const { encoder } = stream.connection
    const follows = writeHttp2Reply(encoder, reply, method, this.#grpc)
    stream.sendHeaders(encoder.finish(), !follows)
    if (follows) {
      const body = Buffer.from(reply.body, "latin1")
      stream.sendContent(body, 0, body.length, false, true)
    }
    this.#connection.flushSoon()
    if (!stream.over) this.#stall()
  }

  #writeHead(response: ResponseHead, ended: boolean): void {
    const { encoder } = this.#stream.connection
    if (this.#stream.over) return
    const known = encoder.blockOf(response)
    if (known === undefined) writeHttp2Response(encoder, response)
    this.#stream.sendHeaders(known ?? encoder.finish(response.written && response), ended)
  }

  #stall(): void {
    if (this.#stalled) return
    const { deadlines, limits } = this.#caller.services
    this.#stalled = true
    deadlines.watch(this)
    this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
  }

  /** A byte has moved, or the one to wait for has changed. Who only waits for the application is not hurried. */
  #touch(): void {
    const { deadlines, limits } = this.#caller.services
    const { head, requestDone } = this.#exchange ?? {}
    if (this.#grpc) this.deadline = deadlines.after(limits.streamIdleTimeoutMs)
    else if (head?.upgrade !== undefined) this.deadline = deadlines.after(limits.tunnelIdleTimeoutMs)
    else this.deadline = requestDone === true ? 0 : deadlines.after(limits.bodyIdleTimeoutMs)
  }
}
