// SPDX-License-Identifier: Apache-2.0
// The handlers of one application port with what they share: the pool of connections to the application and the clock of
// deadlines.

import type { Connections } from "../accept/connections.js"
import type { Handlers } from "../accept/listener.js"
import type { ApplicationPort } from "../config/application-port.js"
import type { Gate } from "../enforcement/gate.js"
import type { Deadlines } from "../http/deadlines.js"
import { serveHttp1 } from "../http1/serve.js"
import { Upstream, type UpstreamOptions } from "../http1/upstream.js"
import { H2cApplication } from "../http2/application/h2c.js"
import { Http1Application } from "../http2/application/http1.js"
import { serveHttp2 } from "../http2/serve-http2.js"
import type { Limits } from "../limits.js"
import type { Meters } from "../observe/meters.js"
import { serveTcp } from "../tcp/serve-tcp.js"
import { ApplicationUpstream } from "../upstream/application-upstream.js"
import { letYoungGenerationGrow } from "./young-generation.js"

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
  const options = { address: port.upstream, limits, meters, deadlines }
  const { upstream, application } =
    port.upstreamProtocol === "h2c" ? http2Application(options) : http1Application(options)
  const http2 = serveHttp2({ ...services, application })
  return {
    handlers: {
      http1: serveHttp1({ ...services, upstreamFor: () => upstream }),
      http2(accepted) {
        letYoungGenerationGrow()
        http2(accepted)
      },
      tcp: serveTcp(services),
    },
    close: () => application.close(),
  }
}

/** Callers of either version reach the application, whichever it speaks. */
function http1Application(options: UpstreamOptions) {
  const upstream = new Upstream(options)
  return { upstream, application: new Http1Application(upstream) }
}

function http2Application(options: UpstreamOptions) {
  letYoungGenerationGrow()
  const application = new H2cApplication(options)
  return { upstream: new ApplicationUpstream(application, options.limits), application }
}
