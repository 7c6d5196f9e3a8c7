// SPDX-License-Identifier: Apache-2.0
// The handler of HTTP/1.1 connections: each becomes a `Downstream`, which lives until its socket closes.

import type { Accepted, ConnectionHandler } from "../accept/accepted.js"
import { Caller, type HttpServices } from "../http/caller.js"
import { Downstream } from "./downstream.js"

export function serveHttp1(services: HttpServices): ConnectionHandler {
  return (accepted: Accepted) => new Downstream(new Caller(services, accepted)).start()
}
