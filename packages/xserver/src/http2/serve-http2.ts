// SPDX-License-Identifier: Apache-2.0
// HTTP/2 through the gate: one handler per port, towards an application that speaks HTTP/1.1 or HTTP/2 in clear.

import type { ConnectionHandler } from "../accept/accepted.js"
import type { Connections } from "../accept/connections.js"
import type { Gate } from "../enforcement/gate.js"
import type { Deadlines } from "../http/deadlines.js"
import type { Limits } from "../limits.js"
import type { Meters } from "../observe/meters.js"
import type { Application } from "./application/application.js"
import { Session } from "./session.js"

export interface Http2Options {
  readonly gate: Gate
  readonly connections: Connections
  readonly limits: Limits
  readonly meters: Meters
  readonly deadlines: Deadlines
  /** What stands behind the port: `new Http1Application(upstream)` or `new H2cApplication(…)`. */
  readonly application: Application
}

export function serveHttp2(options: Http2Options): ConnectionHandler {
  return accepted => {
    new Session(accepted, options).open()
  }
}
