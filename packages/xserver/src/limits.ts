// SPDX-License-Identifier: Apache-2.0
// Limits on everything that a peer could make the proxy spend. Each is a flag, and each rejection is counted under its
// name.

export interface Limits {
  /** Connections open at once on one listener; further ones are closed as they are accepted. */
  readonly connections: number
  /** Bytes of request line and headers together. */
  readonly headerBytes: number
  /** Header lines of one message. */
  readonly headerLines: number
  /**
   * Bytes of all callers that have not been judged yet; beyond it, the connection that has held most for longest is
   * closed.
   */
  readonly unjudgedBytes: number
  /** Requests on one connection that wait for earlier ones (HTTP/1.1 pipelining). */
  readonly pipelinedRequests: number
  /** Streams open at once on one HTTP/2 connection. */
  readonly streams: number
  /**
   * Share, in percent, that one caller (its identity, or else its address) may use of `connections`,
   * `upstreamConnections`, `upstreamStreams` and `pendingRequests` while no other caller uses any; it shrinks the more
   * others use. 100 disables the sharing.
   */
  readonly callerSharePercent: number
  /** Concurrent requests to an application that speaks HTTP/2. */
  readonly upstreamStreams: number
  /** Requests waiting for a connection to the application. */
  readonly pendingRequests: number
  /** Connections to the application. */
  readonly upstreamConnections: number
  /** Time for the first bytes of a connection. */
  readonly sniffTimeoutMs: number
  readonly handshakeTimeoutMs: number
  /** From the first byte of a request to the end of its headers. */
  readonly headerTimeoutMs: number
  /** Time without a byte of the body in either direction. */
  readonly bodyIdleTimeoutMs: number
  /** Time between two requests of a connection. */
  readonly keepAliveTimeoutMs: number
  /** Time without a byte in either direction of a gRPC call. */
  readonly streamIdleTimeoutMs: number
  /** Time without a byte in either direction of a TCP or upgraded connection. */
  readonly tunnelIdleTimeoutMs: number
  readonly connectTimeoutMs: number
  /** From the end of the request to the end of the response's head; 0 waits forever. */
  readonly responseTimeoutMs: number
  /** How long a drain waits for requests in flight. */
  readonly drainTimeoutMs: number
}

export const DEFAULT_LIMITS: Limits = {
  connections: 20_000,
  headerBytes: 64 * 1024,
  headerLines: 200,
  unjudgedBytes: 64 * 1024 * 1024,
  pipelinedRequests: 16,
  streams: 128,
  callerSharePercent: 50,
  upstreamStreams: 10_000,
  pendingRequests: 1_024,
  upstreamConnections: 1_024,
  sniffTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  headerTimeoutMs: 15_000,
  bodyIdleTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  streamIdleTimeoutMs: 900_000,
  tunnelIdleTimeoutMs: 3_600_000,
  connectTimeoutMs: 5_000,
  responseTimeoutMs: 0,
  drainTimeoutMs: 30_000,
}

export type LimitName = keyof Limits
