// SPDX-License-Identifier: Apache-2.0
// A server as the client sees it: send a request, get the response, pause, cancel. One pool of connections is one
// endpoint; the interface hides the HTTP version.

import type { Socket } from "node:net"
import type { Quota } from "../limits/quota.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import type { Deadlines } from "./deadlines.js"
import type { FieldPairs, Fields } from "./fields.js"
import type { ResponseHead } from "./head.js"
import type { OutgoingRequest } from "./outgoing-request.js"

/**
 * Why there is no response, or only a part of one. `connect`, `connect-timeout`: no connection was made, TLS included.
 * `pending-full`: a limit of the pool. `refused`: the server reports that it has not processed the request. `reset`:
 * the connection or stream ended after the request may have been read. `protocol`: the response is malformed.
 * `response-timeout`: its head did not come in time.
 */
export type UpstreamFailure =
  | "connect"
  | "connect-timeout"
  | "pending-full"
  | "refused"
  | "reset"
  | "protocol"
  | "response-timeout"

/** Whether no application can have acted on the request, so that sending it elsewhere is safe, whatever its method. */
export function neverProcessed(failure: UpstreamFailure): boolean {
  switch (failure) {
    case "connect":
    case "connect-timeout":
    case "pending-full":
    case "refused":
      return true
    case "reset":
    case "protocol":
    case "response-timeout":
      return false
  }
}

/** Calls come in this order; none after `onEnd` or `onFailure`, and none at all before `send` has returned. */
export interface UpstreamListener {
  /** Status 1xx other than 101. */
  onInformational(head: ResponseHead): void
  onResponse(head: ResponseHead): void
  /** The bytes are the listener's only until it returns. */
  onContent(bytes: BorrowedBytes, from: number, to: number): void
  onEnd(trailers: Fields | undefined): void
  onFailure(failure: UpstreamFailure): void
  /** All that came at once has been told: the time to write what was gathered. */
  onPause(): void
  /** `full` was true and is no longer. */
  onWritable(): void
}

/** One request on its way. */
export interface UpstreamCall {
  content(bytes: BorrowedBytes, from: number, to: number): void
  /** The request is complete, with these header lines after its content. Where it was switched, our side has ended. */
  finishRequest(trailers: FieldPairs): void
  /** What was written may go. */
  flush(): void
  /** Whether the forwarder is to wait for `onWritable`. */
  readonly full: boolean
  pause(): void
  resume(): void
  /** The response is no longer wanted. No call follows. */
  abort(): void
}

export interface Upstream {
  send(request: OutgoingRequest, listener: UpstreamListener): UpstreamCall
  /** Connections that are open or being opened. */
  readonly connections: number
  /** Drains: ends idle connections now and the others after their response. Resolves when the last one has closed. */
  close(): Promise<void>
  /** Ends every connection now. Requests in flight fail with `reset`, or `connect` where none of them was sent. */
  destroy(): void
}

/**
 * Opens a connection to the endpoint: a TCP or TLS socket that is still connecting and has no reader yet. A TLS socket
 * offers in ALPN the one version that its pool speaks. A connector that rejects the certificate or the protocol
 * destroys the socket, at the latest in its own listener of `secureConnect`; no part of a request has been sent by
 * then.
 */
export type Connect = (options: ConnectOptions) => Socket

/** To be passed on to `net.connect` or `tls.connect`. */
export interface ConnectOptions {
  readonly allowHalfOpen: boolean
}

/** Everything that a pool may use, under the names by which `limitHit` reports them. */
export interface UpstreamLimits {
  /** Bytes of status line and headers together. */
  readonly headerBytes: number
  readonly headerLines: number
  /** What one caller may have of the three limits below while no other has any, in percent; 100 for no shares. */
  readonly callerSharePercent: number
  readonly upstreamConnections: number
  /** Requests that wait for a connection (HTTP/1.1). */
  readonly pendingRequests: number
  /** Requests at once over all connections (HTTP/2). */
  readonly upstreamStreams: number
  /** For TCP and TLS together. */
  readonly connectTimeoutMs: number
  /** From the end of the request to the end of the response's head; 0 waits for ever. */
  readonly responseTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveTimeoutMs: number
}

/** Limits of a destination, which the pools of all its endpoints share. */
export interface SharedLimits {
  /** Connections. A pool without any may open one in any case: its requests would have nothing to wait for. */
  readonly connections: Quota
  /** Requests that wait for a connection. They wait for as long as their senders do. */
  readonly pending: Quota
  /** How many requests a connection carries before it is closed; 0 for any number. */
  readonly requestsPerConnection: number
}

/** What a pool reports besides the outcome of each request. */
export interface UpstreamObserver {
  limitHit?(limit: keyof UpstreamLimits): void
  /** A connection was not made. Without an error it was closed or took too long. */
  connectFailed?(error: Error | undefined): void
}

export interface UpstreamOptions {
  readonly connect: Connect
  readonly limits: UpstreamLimits
  readonly deadlines: Deadlines
  readonly shared?: SharedLimits
  readonly observer?: UpstreamObserver
  /**
   * After so long without a byte from a server that has requests, it is asked for a sign of life, and given up after as long again
   * (HTTP/2). Default 0: never.
   */
  readonly probeAfterMs?: number
  /**
   * Whether the pool itself sends a request again, once, that met a connection which its server was closing. Default true; false for
   * an owner that decides about retries.
   */
  readonly retries?: boolean
}
