// SPDX-License-Identifier: Apache-2.0
// One HTTP connection of the workload, of either version. Each of its requests is routed separately.

import type { Socket } from "node:net"
import { Http1Downstream, Http2Downstream } from "@merlon/wire"
import type {
  Deadlines,
  DownstreamLimits,
  DownstreamUser,
  Exchange,
  HttpVersion,
  LocalReply,
  RequestHead,
  Responder,
} from "@merlon/wire/http"
import { ByteBudget, TokenBucket } from "@merlon/wire/limits"

/** The program is trusted with its own resources; these bound mistakes. */
export const DOWNSTREAM_LIMITS: DownstreamLimits = {
  headerBytes: 64 * 1024,
  headerLines: 200,
  pipelinedRequests: 16,
  streams: 1_000,
  headerTimeoutMs: 60_000,
  bodyIdleTimeoutMs: 300_000,
  // Programs keep connections for long, and see a reset if they use one that the proxy has closed.
  keepAliveTimeoutMs: 3_600_000,
  streamIdleTimeoutMs: 3_600_000,
  tunnelIdleTimeoutMs: 3_600_000,
}
const UNREAD_BYTES = 64 * 1024 * 1024
const RESETS = { burst: 10_000, perSecond: 1_000 }

export type MakeExchange = (request: RequestHead, responder: Responder) => Exchange

/** What the connections of a workload share. */
export class WorkloadConnections {
  readonly #deadlines: Deadlines
  readonly #unread = new ByteBudget(UNREAD_BYTES)
  readonly #open = new Set<{ drain(): void }>()

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines
  }

  /**
   * Serves requests on the socket until it closes or is drained. `head`: bytes that were already read. `tunnels`:
   * whether CONNECT is allowed.
   */
  serve(
    socket: Socket,
    version: "http1" | "http2",
    head: Buffer,
    exchange: MakeExchange,
    tunnels = false,
  ): { drain(): void } {
    const options = { limits: DOWNSTREAM_LIMITS, deadlines: this.#deadlines, unread: this.#unread, tunnels }
    const user: DownstreamUser<Exchange> = {
      exchange,
      unreadable: (_version: HttpVersion, status: number, body: string): LocalReply => ({ status, body, fields: [] }),
      draining: false,
      limitHit: () => undefined,
      evicted: () => undefined,
      closed: () => this.#open.delete(open),
    }
    const connection =
      version === "http1"
        ? new Http1Downstream(socket, options, user)
        : new Http2Downstream(socket, options, user, new TokenBucket(RESETS.burst, RESETS.perSecond, performance.now()))
    const open = { drain: () => connection.drain("now") }
    this.#open.add(open)
    connection.start(head)
    return open
  }

  /** Closes idle connections now, and others after their current response. */
  drain(): void {
    for (const connection of this.#open) connection.drain()
  }
}
