// SPDX-License-Identifier: Apache-2.0
// The handler of HTTP/2 connections: it runs until the socket closes.

import { Http2Downstream } from "@merlon/wire"
import { TokenBuckets } from "@merlon/wire/limits"
import type { Accepted, ConnectionHandler } from "../accept/accepted.js"
import { Caller, type HttpServices } from "../http/caller.js"
import { CallerConnection, downstreamOptions, type NewExchange } from "../http/caller-connection.js"

/** Streams that a caller may reset at once, and per second from then on, over all of its connections (CVE-2023-44487). */
const RESET_BURST = 200
const RESETS_PER_SECOND = 20

export function serveHttp2(services: HttpServices, newExchange: NewExchange): ConnectionHandler {
  const options = downstreamOptions(services)
  const budgets = new TokenBuckets(RESET_BURST, RESETS_PER_SECOND)
  return (accepted: Accepted) => {
    const { socket, connection } = accepted
    const { peer, sourceIp } = connection
    // The key includes the address, so that callers with the same identity do not share one budget.
    const resets = budgets.of(`${peer?.uri ?? ""} ${sourceIp.text}`, performance.now())
    const caller = new Caller(services, accepted)
    new CallerConnection(caller, "h2", newExchange, user => new Http2Downstream(socket, options, user, resets)).start()
  }
}
