// SPDX-License-Identifier: Apache-2.0
// A client connection as the server sees it: it reads requests, gives each to an exchange, and writes the exchange's
// response. The exchange decides what to do with a request (judge, route, answer).

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
export type Beginning = "forwarded" | "rejected" | "closed"

/** Writes the response of one request to its client. It says when all is over: `Exchange.finish`. */
export interface Responder {
  informational(head: ResponseHead): void
  /** The response begins. False where this client cannot be given such a one; nothing was written then. */
  respond(head: ResponseHead): boolean
  /** The bytes are the responder's only until it returns. */
  content(bytes: BorrowedBytes, from: number, to: number): void
  end(trailers: Fields | undefined): void
  /** All that came at once has been told. */
  flush(): void
  /** Whether the server behind us is to wait. */
  readonly full: boolean
  /** An answer of our own, whole. */
  reply(reply: LocalReply): void
  /** Half a response must not look like a whole one: it goes as far as it came, and breaks off. */
  breakOff(why: "failed" | "rejected"): void
  /** More of the request can be taken. */
  requestWritable(): void
}

/** One request and its response. The connection tells the request; the exchange answers through its responder. */
export interface Exchange {
  readonly head: RequestHead
  /** The server's response has begun. */
  readonly responseStarted: boolean
  readonly over: boolean
  /** Whether more of the request must wait for `Responder.requestWritable`. */
  readonly full: boolean
  begin(): Beginning
  /** Writes the response that `begin` prepared when it returned `rejected`. */
  reject(): void
  content(bytes: BorrowedBytes, from: number, to: number): void
  /** The request is complete. After an upgrade: the client has said all it wants to. */
  requestEnd(trailers: Fields | undefined): void
  /** All that came at once has been told. */
  flush(): void
  /** The client has taken what was waiting. */
  drained(): void
  /** The content turned out to be malformed on the way. */
  rejectContent(error: HttpError): void
  /** No response has begun, and the client does not send, or the server behind us does not take it. */
  timedOut(who: "client" | "server"): void
  /** The status under which an answer of our own goes to this client, where that is another. */
  answeredAs(status: number): void
  /** The client's connection has gone, or must go. */
  abort(): void
  /** All is over. */
  finish(): void
}

/** Everything that a client may use, under the names by which `limitHit` reports them. */
export interface DownstreamLimits {
  /** Bytes of request line and headers together. */
  readonly headerBytes: number
  readonly headerLines: number
  /** Requests on one connection that wait for their turn (HTTP/1.1 pipelining). */
  readonly pipelinedRequests: number
  /** Streams open at once on one HTTP/2 connection. */
  readonly streams: number
  readonly headerTimeoutMs: number
  readonly bodyIdleTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** gRPC calls without a byte in either direction. */
  readonly streamIdleTimeoutMs: number
  readonly tunnelIdleTimeoutMs: number
}

/** What all connections of a listener have in common. */
export interface DownstreamOptions {
  readonly limits: DownstreamLimits
  readonly deadlines: Deadlines
  /** For bytes of requests that have not come whole, or wait for their turn. */
  readonly unread: ByteBudget
  /** Whether clients may ask for tunnels by CONNECT, which a 2xx begins (RFC 9110 section 9.3.6). HTTP/1.1 alone offers it. */
  readonly tunnels?: boolean
}

/** Whose connection it is. */
export interface DownstreamUser<E extends Exchange> {
  exchange(head: RequestHead, responder: Responder): E
  /** For what could not be read as a request: the answer. */
  unreadable(version: HttpVersion, status: number, body: string): LocalReply
  /** Whether clients are told with every response to go elsewhere. */
  readonly draining: boolean
  limitHit(limit: keyof DownstreamLimits): void
  /** It was closed, because all together hold too much. */
  evicted(): void
  /** Comes once, last, whatever happened. */
  closed(): void
}

/**
 * How a connection drains: it takes no further request, and ends after what it is busy with. `gradually`: an idle one is left
 * time for one more request, which is answered with the word that it was the last. `now`: an idle one ends at once.
 * `tunnels-too`: so does one that was switched to another protocol.
 */
export type Drain = "gradually" | "now" | "tunnels-too"

export interface DownstreamConnection<E extends Exchange> {
  /** Reads what has been read of it already, and then on. */
  start(head: Buffer): void
  /** Those in flight. */
  exchanges(): readonly E[]
  drain(how: Drain): void
  /** Ends now, whatever it does. */
  destroy(): void
}
