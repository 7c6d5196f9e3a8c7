// SPDX-License-Identifier: Apache-2.0
// The handlers of one application port with what they share: the pool of connections to the application and the clock of
// deadlines.

import type { Connections } from "../accept/connections.js"
import type { Handlers } from "../accept/listener.js"
import type { ApplicationPort } from "../config/application-port.js"
import type { Gate } from "../enforcement/gate.js"
import type { Deadlines } from "../http1/deadlines.js"
import { serveHttp1 } from "../http1/serve.js"
import { H2cApplication } from "../http2/application/h2c.js"
import { Http1Application } from "../http2/application/http1.js"
import { serveHttp2 } from "../http2/serve-http2.js"
import type { Limits } from "../limits.js"
import type { Meters } from "../observe/meters.js"
import { serveTcp } from "../tcp/serve-tcp.js"
import { Upstream } from "../upstream/upstream.js"

export interface HandlerServices {
  readonly gate: Gate
  readonly meters: Meters
  readonly limits: Limits
  readonly connections: Connections
  readonly deadlines: Deadlines
}

export interface Handling {
  readonly handlers: Handlers
  /** Ends what is kept open towards the application. */
  close(): void
}

export function handlersFor(port: ApplicationPort, services: HandlerServices): Handling {
  const { limits, meters, deadlines } = services
  const upstream = new Upstream({ address: port.upstream, limits, meters, deadlines })
  const application =
    port.upstreamProtocol === "h2c"
      ? new H2cApplication({ address: port.upstream, limits, meters, deadlines })
      : new Http1Application(upstream)
  return {
    handlers: {
      http1: serveHttp1({ ...services, upstreamFor: () => upstream }),
      http2: serveHttp2({ ...services, application }),
      tcp: serveTcp(services),
    },
    close() {
      upstream.close()
      application.close()
    },
  }
}
