// SPDX-License-Identifier: Apache-2.0
// The handlers of an authorizer's port: it accepts questions over HTTP/1.1 and HTTP/2, and nothing else.

import { serveHttp1 } from "../http1/serve.js"
import { serveHttp2 } from "../http2/serve.js"
import type { HandlerServices, Handling } from "../process/handlers.js"
import type { GatewayTrust } from "./gateway-trust.js"
import { answerQuestions, type CheckMessages } from "./question-exchange.js"
import type { SearchedPolicies } from "./search-candidates.js"

/** `searched`: the current policies, for searches. */
export function questionHandlers(
  trust: GatewayTrust,
  services: HandlerServices,
  messages: CheckMessages,
  searched: () => SearchedPolicies | undefined = () => undefined,
): Handling {
  const answered = answerQuestions(trust, messages, searched)
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
