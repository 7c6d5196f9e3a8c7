// SPDX-License-Identifier: Apache-2.0
// The interface to a server: send a request, get the response, pause, cancel. One pool of connections is one endpoint.
// The interface hides the HTTP version.

import type { Socket } from "node:net"
import type { Quota } from "../limits/quota.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import type { Deadlines } from "./deadlines.js"
import type { FieldPairs, Fields } from "./fields.js"
import type { ResponseHead } from "./head.js"
import type { OutgoingRequest } from "./outgoing-request.js"

/**
 * Why there is no response, or only part of one. `connect`, `connect-timeout`: no connection was established, including
 * TLS. `pending-full`: a limit of the pool was reached. `refused`: the server reports that it has not processed the
 * request. `reset`: the connection or stream ended after the server may have read the request. `protocol`: the response
 * is malformed. `response-timeout`: the response head did not arrive in time.
 */
export type UpstreamFailure =
  | "connect"
  | "connect-timeout"
  | "pending-full"
  | "refused"
  | "reset"
  | "protocol"
  | "response-timeout"

/**
 * Whether no application can have acted on the request, so that it is safe to send it elsewhere, whatever its method.
 */
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

/** Calls come in this order. None comes after `onEnd` or `onFailure`, and none before `send` has returned. */
export interface UpstreamListener {
  /** Status 1xx other than 101. */
  onInformational(head: ResponseHead): void
  onResponse(head: ResponseHead): void
  /** `bytes` are only valid until the call returns. */
  onContent(bytes: BorrowedBytes, from: number, to: number): void
  onEnd(trailers: Fields | undefined): void
  onFailure(failure: UpstreamFailure): void
  /** Everything that arrived in one read has been delivered: the time to flush buffered output. */
  onPause(): void
  /** `full` was true and is now false. */
  onWritable(): void
}

/** One request in flight. */
export interface UpstreamCall {
  content(bytes: BorrowedBytes, from: number, to: number): void
  /** The request is complete, with these trailers. After an upgrade: our side has ended. */
  finishRequest(trailers: FieldPairs): void
  /** Sends what has been written. */
  flush(): void
  /** Whether the forwarder must wait for `onWritable`. */
  readonly full: boolean
  pause(): void
  resume(): void
  /** Cancels the request: the response is no longer wanted. No call may follow. */
  abort(): void
}

export interface Upstream {
  send(request: OutgoingRequest, listener: UpstreamListener): UpstreamCall
  /** Connections that are open or connecting. */
  readonly connections: number
  /** Drains: closes idle connections now and the others after their response. Resolves when the last one has closed. */
  close(): Promise<void>
  /**
   * Closes every connection now. Requests in flight fail with `reset`, or with `connect` if no part of them was sent.
   */
  destroy(): void
}

/**
 * Opens a connection to the endpoint and returns a TCP or TLS socket that is still connecting and has no reader yet. A
 * TLS socket offers in ALPN only the version that its pool speaks. A connector that rejects the certificate or the
 * protocol destroys the socket, at the latest in its own listener for `secureConnect`. Until then no part of a request
 * has been sent.
 */
export type Connect = (options: ConnectOptions) => Socket

/** Options for `net.connect` or `tls.connect`. */
export interface ConnectOptions {
  readonly allowHalfOpen: boolean
}

/** Limits on what a pool may use, under the names by which `limitHit` reports them. */
export interface UpstreamLimits {
  /** Size of the status line and headers together. */
  readonly headerBytes: number
  readonly headerLines: number
  /**
   * The share of the three limits below that one caller may use while no other uses any, in percent; 100 means no
   * shares.
   */
  readonly callerSharePercent: number
  readonly upstreamConnections: number
  /** Requests that wait for a connection (HTTP/1.1). */
  readonly pendingRequests: number
  /** Concurrent requests over all connections (HTTP/2). */
  readonly upstreamStreams: number
  /** Includes the TLS handshake. */
  readonly connectTimeoutMs: number
  /** From the end of the request to the end of the response head; 0 means no limit. */
  readonly responseTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveTimeoutMs: number
}

/** Limits of a destination, shared by the pools of all its endpoints. */
export interface SharedLimits {
  /** Open connections. A pool without any may always open one, or its requests would wait forever. */
  readonly connections: Quota
  /** Requests that wait for a connection. They wait as long as their senders do. */
  readonly pending: Quota
  /** How many requests a connection carries before it is closed; 0 means no limit. */
  readonly requestsPerConnection: number
}

/** Events that a pool reports besides the outcome of each request. */
export interface UpstreamObserver {
  limitHit?(limit: keyof UpstreamLimits): void
  /** A connection attempt failed. Without an error, the connection was closed or timed out. */
  connectFailed?(error: Error | undefined): void
}

export interface UpstreamOptions {
  readonly connect: Connect
  readonly limits: UpstreamLimits
  readonly deadlines: Deadlines
  readonly shared?: SharedLimits
  readonly observer?: UpstreamObserver
  /**
   * A server with requests in flight that sends nothing for this long gets a PING, and the connection is closed after
   * the same time again (HTTP/2). Default 0: never.
   */
  readonly probeAfterMs?: number
  /**
   * Whether the pool itself retries a request, once, if the server was closing the connection that it was sent on.
   * Default true; false for an owner that decides about retries.
   */
  readonly retries?: boolean
}
