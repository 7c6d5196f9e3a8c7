// SPDX-License-Identifier: Apache-2.0
// The server side of a client connection: it reads requests, passes each to an exchange, and writes the exchange's
// response. The exchange decides what to do with a request (evaluate policies, route, respond).

import type { ByteBudget } from "../limits/byte-budget.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import type { Deadlines } from "./deadlines.js"
import type { Fields } from "./fields.js"
import type { HttpVersion, RequestHead, ResponseHead } from "./head.js"
import type { HttpError } from "./http-error.js"
import type { LocalReply } from "./local-reply.js"

/**
 * `forwarded`: a response will come. `rejected`: `reject` writes a response. `closed`: the connection ends without one.
 */
export type ExchangeStart = "forwarded" | "rejected" | "closed"

/** Writes the response of one request to its client, and calls `Exchange.finish` when the exchange is over. */
export interface Responder {
  informational(head: ResponseHead): void
  /** Starts the response. Returns false, with nothing written, if the response cannot be represented to this client. */
  respond(head: ResponseHead): boolean
  /** `bytes` are only valid until the call returns. */
  content(bytes: BorrowedBytes, from: number, to: number): void
  end(trailers: Fields | undefined): void
  /** Called after everything that arrived in one read has been delivered. */
  flush(): void
  /** Whether the upstream server has to wait. */
  readonly full: boolean
  /** Writes a complete local reply. */
  reply(reply: LocalReply): void
  /**
   * Aborts a response that has begun. The client must not take a partial response for a complete one, so the connection
   * or stream is broken off.
   */
  breakOff(why: "failed" | "rejected"): void
  /** More of the request can be accepted. */
  requestWritable(): void
}

/** One request and its response. The connection delivers the request; the exchange responds through its responder. */
export interface Exchange {
  readonly head: RequestHead
  /** Whether the server's response has begun. */
  readonly responseStarted: boolean
  readonly over: boolean
  /** Whether more of the request must wait for `Responder.requestWritable`. */
  readonly full: boolean
  begin(): ExchangeStart
  /** Writes the response that `begin` prepared when it returned `rejected`. */
  reject(): void
  content(bytes: BorrowedBytes, from: number, to: number): void
  /** The request is complete. After an upgrade: the client has ended its side. */
  requestEnd(trailers: Fields | undefined): void
  /** Called after everything that arrived in one read has been delivered. */
  flush(): void
  /** The client has read the output that was waiting. */
  drained(): void
  /** The content turned out to be malformed while it was being forwarded. */
  rejectContent(error: HttpError): void
  /** A timeout before any response: the client does not send, or the server does not read. */
  timedOut(who: "client" | "server"): void
  /** Reports the status that this client gets for a local reply, if it differs from the reply's. */
  replyStatus(status: number): void
  /** The client's connection is gone or must be closed. */
  abort(): void
  /** The exchange is over. */
  finish(): void
}

/** Limits on what a client may use, under the names by which `limitHit` reports them. */
export interface DownstreamLimits {
  /** Size of the request line and headers together. */
  readonly headerBytes: number
  readonly headerLines: number
  /** Requests on one connection that wait for the one before (HTTP/1.1 pipelining). */
  readonly pipelinedRequests: number
  /** Concurrent streams on one HTTP/2 connection. */
  readonly streams: number
  readonly headerTimeoutMs: number
  readonly bodyIdleTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** For gRPC calls without a byte in either direction. */
  readonly streamIdleTimeoutMs: number
  readonly tunnelIdleTimeoutMs: number
}

/** What all connections of a listener share. */
export interface DownstreamOptions {
  readonly limits: DownstreamLimits
  readonly deadlines: Deadlines
  /** Bytes of requests that are incomplete or queued. */
  readonly unread: ByteBudget
  /**
   * Whether clients may open tunnels with CONNECT, which a 2xx response begins (RFC 9110 section 9.3.6). Only HTTP/1.1
   * supports this.
   */
  readonly tunnels?: boolean
}

/** The owner of a connection: it creates exchanges and receives events. */
export interface DownstreamUser<E extends Exchange> {
  exchange(head: RequestHead, responder: Responder): E
  /** The reply to bytes that cannot be parsed as a request. */
  unreadable(version: HttpVersion, status: number, body: string): LocalReply
  /** Whether every response tells the client to use another connection. */
  readonly draining: boolean
  limitHit(limit: keyof DownstreamLimits): void
  /** The connection was closed because all connections together hold too many bytes. */
  evicted(): void
  /** Called exactly once, last, however the connection ended. */
  closed(): void
}

/**
 * How a connection drains: it accepts no further request and closes after the requests in flight. `gradually`: an idle
 * connection stays open briefly for one more request, whose response says that it was the last. `now`: an idle
 * connection closes at once. `tunnels-too`: as `now`, and a connection that was switched to another protocol closes as
 * well.
 */
export type Drain = "gradually" | "now" | "tunnels-too"

export interface DownstreamConnection<E extends Exchange> {
  /** Processes the bytes that have been read already, then continues reading. */
  start(head: Buffer): void
  /** The exchanges in flight. */
  exchanges(): readonly E[]
  drain(how: Drain): void
  /** Closes the connection now, even with requests in flight. */
  destroy(): void
}
