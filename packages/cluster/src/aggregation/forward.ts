// SPDX-License-Identifier: Apache-2.0
// Forwards a request to the API server that serves its group, on behalf of the user, and streams the response back.
// INVARIANT: no credential of the caller and no foreign header about users is forwarded.

import type { IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { TLS_FLOOR } from "@merlon/wire/tls"
import type { Exchange } from "../http/exchange.js"
import { ApiError } from "../meta/status.js"
import type { ApiService } from "./api-service.js"
import { BackendError, type Backends } from "./backend.js"
import type { FrontProxyIdentity } from "./front-proxy.js"

const FORWARDED = ["accept", "content-type", "user-agent"]
/** Limits the time until the head of the response; a watch may then stay open without a limit. */
const RESPONSE_TIMEOUT_MS = 60_000
const RETURNED = ["content-type", "cache-control", "warning", "retry-after"]

export interface Forwarding {
  readonly backends: Backends
  readonly identity: FrontProxyIdentity
}

/** Resolves when the response has been sent or the connection is closed. */
export async function forward(
  exchange: Exchange,
  service: ApiService,
  { backends, identity }: Forwarding,
): Promise<void> {
  const { request, response, method, user, body } = exchange
  const target = await backends.target(service).catch((error: unknown) => {
    throw unavailable(error)
  })
  // `close` was already emitted if the client disconnected during the lookup, so there would be nothing to wait for.
  if (response.destroyed) return
  const headers: Record<string, string | string[] | number> = { ...identity.headers(user) }
  for (const name of FORWARDED) {
    const value = request.headers[name]
    if (value !== undefined) headers[name] = value
  }
  if (body.length > 0) headers["content-length"] = body.length
  await new Promise<void>((resolve, reject) => {
    const onward = httpsRequest({
      ...TLS_FLOOR,
      ...target,
      method,
      path: request.url ?? "/",
      headers,
    })
    const timer = setTimeout(() => onward.destroy(new Error("no answer")), RESPONSE_TIMEOUT_MS)
    onward.on("response", answer => {
      clearTimeout(timer)
      passBack(answer, exchange)
      answer.on("error", () => response.destroy())
      answer.pipe(response)
    })
    const failed = (error?: unknown): void => {
      clearTimeout(timer)
      if (response.headersSent) response.destroy()
      else reject(unavailable(error))
    }
    onward.on("error", failed)
    // An upgrade of the protocol emits no `response`, only `close`.
    onward.on("close", () => {
      if (!response.headersSent) failed()
    })
    response.once("close", () => {
      clearTimeout(timer)
      onward.destroy()
      resolve()
    })
    onward.end(body.length > 0 ? body : undefined)
  })
}

function passBack(answer: IncomingMessage, { response }: Exchange): void {
  response.statusCode = answer.statusCode ?? 502
  for (const name of RETURNED) {
    const value = answer.headersDistinct[name]
    if (value !== undefined) response.setHeader(name, value)
  }
  // Sends the headers byte for byte. `flushHeaders` would encode the UTF-8 of a warning twice.
  response.write("", "latin1")
}

function unavailable(error: unknown): ApiError {
  const reason = error instanceof BackendError ? `: ${error.message}` : ""
  return new ApiError(
    503,
    "ServiceUnavailable",
    `the server that answers for this API is currently unable to handle the request${reason}`,
  )
}
