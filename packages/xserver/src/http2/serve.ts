// SPDX-License-Identifier: Apache-2.0
// The handler of HTTP/2 connections: each becomes a `Downstream`, which lives until its socket closes.

import type { Accepted, ConnectionHandler } from "../accept/accepted.js"
import { Caller, type HttpServices } from "../http/caller.js"
import { CallerBudgets } from "./caller-budgets.js"
import { Downstream } from "./downstream.js"

export function serveHttp2(services: HttpServices): ConnectionHandler {
  const budgets = new CallerBudgets()
  return (accepted: Accepted) => {
    const resets = budgets.of(accepted, performance.now())
    new Downstream(new Caller(services, accepted), resets).start()
  }
}
