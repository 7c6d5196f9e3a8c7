// SPDX-License-Identifier: Apache-2.0
// The handlers of an authorizer's port: it accepts questions over HTTP/1.1 and HTTP/2, and nothing else.

import { serveHttp1 } from "../http1/serve.js"
import { serveHttp2 } from "../http2/serve.js"
import type { HandlerServices, Handling } from "../process/handlers.js"
import type { GatewayTrust } from "./gateway-trust.js"
import { answerQuestions, type CheckMessages } from "./question-exchange.js"

export function questionHandlers(trust: GatewayTrust, services: HandlerServices, messages: CheckMessages): Handling {
  const answered = answerQuestions(trust, messages)
  return {
    handlers: {
      http1: serveHttp1(services, answered),
      http2: serveHttp2(services, answered),
      tcp: ({ socket }) => void socket.destroy(),
    },
    replace: () => undefined,
    close: () => undefined,
  }
}
