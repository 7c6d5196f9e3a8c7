// SPDX-License-Identifier: Apache-2.0
// The handlers of one application port with their shared state: the connection pool to the application and the deadline
// timer.

import { isDeepStrictEqual } from "node:util"
import { connectTcp, Http1Pool, Http2Pool } from "@merlon/wire"
import type { Connect, Deadlines, Upstream } from "@merlon/wire/http"
import type { Connections } from "../accept/connections.js"
import type { Handlers } from "../accept/listener.js"
import type { ApplicationPort } from "../config/application-port.js"
import type { Gate } from "../enforcement/gate.js"
import { forwardTo } from "../http/exchange.js"
import { serveHttp1 } from "../http1/serve.js"
import { serveHttp2 } from "../http2/serve.js"
import type { Limits } from "../limits.js"
import type { Meters, RequestRecord } from "../observe/meters.js"
import type { Providers } from "../providers/providers.js"
import { serveTcp } from "../tcp/serve-tcp.js"
import type { Tracer } from "../trace/tracer.js"

export interface HandlerServices {
  readonly gate: Gate
  readonly meters: Meters
  readonly limits: Limits
  readonly connections: Connections
  readonly deadlines: Deadlines
  readonly tracer?: Tracer<RequestRecord> | undefined
  readonly providers?: Providers | undefined
}

export interface Handling {
  readonly handlers: Handlers
  /** Sends further requests to the application's new address, or in its new HTTP version. */
  replace(port: ApplicationPort): void
  /** Closes the idle connections to the application. */
  close(): void
}

export function handlersFor(port: ApplicationPort, services: HandlerServices): Handling {
  let current = port
  let upstream = upstreamOf(port, services)
  const forwarded = forwardTo(() => upstream)
  return {
    handlers: {
      http1: serveHttp1(services, forwarded),
      http2: serveHttp2(services, forwarded),
      tcp: serveTcp(services),
    },
    replace: next => {
      const same = isDeepStrictEqual(reachedAt(next), reachedAt(current))
      current = next
      if (same) return
      // Requests in flight finish on their old connections.
      void upstream.close()
      upstream = upstreamOf(next, services)
    },
    close: () => void upstream.close(),
  }
}

function reachedAt({ upstream, upstreamProtocol }: ApplicationPort): unknown {
  return { upstream, upstreamProtocol }
}

/** Callers of either HTTP version reach the application, whichever version it speaks. */
function upstreamOf(port: ApplicationPort, { limits, meters, deadlines }: HandlerServices): Upstream {
  // Inside a Pod all of its addresses lead over the loopback interface, which capture ignores.
  const connect: Connect = options => connectTcp(port.upstream, limits.connectTimeoutMs, options)
  const pool = { connect, limits, deadlines, observer: meters }
  return port.upstreamProtocol === "h2c" ? new Http2Pool(pool) : new Http1Pool(pool)
}
