// SPDX-License-Identifier: Apache-2.0
// The handler of HTTP/1.1 connections: each becomes a `Downstream`, which lives until its socket closes.

import type { Accepted, ConnectionHandler } from "../accept/accepted.js"
import type { Connections } from "../accept/connections.js"
import type { ApplicationPort } from "../config/application-port.js"
import type { Gate } from "../enforcement/gate.js"
import type { Deadlines } from "../http/deadlines.js"
import type { Limits } from "../limits.js"
import type { Meters } from "../observe/meters.js"
import { Downstream } from "./downstream.js"
import type { UpstreamTarget } from "./upstream-exchange.js"

export interface Http1Services {
  readonly gate: Gate
  readonly meters: Meters
  readonly limits: Limits
  readonly connections: Connections
  /** One for the whole process; the upstreams use the same. */
  readonly deadlines: Deadlines
  upstreamFor(port: ApplicationPort): UpstreamTarget
}

export function serveHttp1(services: Http1Services): ConnectionHandler {
  return (accepted: Accepted) => new Downstream(services, accepted).start()
}
