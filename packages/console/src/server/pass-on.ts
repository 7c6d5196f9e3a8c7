// SPDX-License-Identifier: Apache-2.0
// Forwards one request of the page to the API with the permissions of its session, and streams the response back:
// lists, and watches without an end. Only the type and the warnings of the response headers pass.

import type { IncomingMessage, ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"
import type { AllowedPaths } from "./allowed-paths.js"
import type { ApiAnswer, ApiRequest } from "./exchange.js"
import { readBody, TooLarge } from "./read-body.js"
import { headers, sendFailure } from "./reply.js"
import type { Session } from "./sessions.js"

/** The API's own limit is lower. */
const MAX_BODY = 4 << 20
const BODILESS = new Set(["GET", "HEAD"])

export async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  { api }: Session,
  allowed: AllowedPaths,
): Promise<void> {
  const { method = "GET" } = request
  const why = allowed.rejection(method, path)
  if (why !== undefined) return sendFailure(response, 403, "Forbidden", why)
  const ended = new AbortController()
  response.once("close", () => ended.abort())
  let answer: ApiAnswer
  try {
    answer = await api.send(await asked(request, method, path), ended.signal)
  } catch (error) {
    if (error instanceof TooLarge) return sendFailure(response, 413, "RequestEntityTooLarge", error.message)
    return sendFailure(response, 502, "Unreachable", "the API does not answer; the console tries again")
  }
  // A browser would run a response with a script or page type. Data of the API never has one.
  const type = /^(?:application\/json|text\/plain)\b/.exec(answer.contentType)?.[0] ?? "text/plain"
  if (answer.warnings.length > 0) response.setHeader("warning", answer.warnings)
  response.writeHead(answer.status, headers(`${type}; charset=utf-8`))
  // Sends the headers byte for byte: `flushHeaders` would encode the UTF-8 of a warning once more.
  response.write("", "latin1")
  await pipeline(answer.body, response).catch(() => response.destroy())
}

async function asked(request: IncomingMessage, method: string, path: string): Promise<ApiRequest> {
  const { accept = "application/json", "content-type": contentType } = request.headers
  const common = { method, path, accept }
  if (BODILESS.has(method)) return common
  const body = await readBody(request, MAX_BODY)
  return { ...common, body, ...(contentType === undefined ? {} : { contentType }) }
}
