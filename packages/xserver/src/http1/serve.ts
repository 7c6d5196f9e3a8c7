// SPDX-License-Identifier: Apache-2.0
// The handler of HTTP/1.1 connections: it runs until the socket closes.

import { Http1Downstream } from "@merlon/wire"
import type { Accepted, ConnectionHandler } from "../accept/accepted.js"
import { Caller, type HttpServices } from "../http/caller.js"
import { CallerConnection, downstreamOptions, type NewExchange } from "../http/caller-connection.js"

export function serveHttp1(services: HttpServices, newExchange: NewExchange): ConnectionHandler {
  const options = downstreamOptions(services)
  return (accepted: Accepted) => {
    const caller = new Caller(services, accepted)
    new CallerConnection(
      caller,
      "http/1.1",
      newExchange,
      user => new Http1Downstream(accepted.socket, options, user),
    ).start()
  }
}
