// SPDX-License-Identifier: Apache-2.0
// One request of a program through the mesh and its answer back, both streamed. A request without a body may be said
// again where a kept connection turns out to be closed; one with a body is said once.

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http"
import { CallFailure } from "../call/call-failure.js"
import type { Exchange, Outbound } from "../call/outbound.js"
import type { Call } from "../routes/call.js"
import type { HostRouting } from "../routes/host-routing.js"
import { copyBody } from "./copy-body.js"
import type { ForwardTarget } from "./forward-target.js"
import { asHeaderObject, type EndToEndHeaders, endToEndHeaders } from "./hop-by-hop.js"

export interface ForwardExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: ForwardTarget
  /** As they are to be sent. */
  readonly headers: OutgoingHttpHeaders
  /** The same, as routes look at them. */
  readonly fields: EndToEndHeaders
  readonly answerMs: number
}

export async function forwardThroughMesh(
  exchange: ForwardExchange,
  routing: HostRouting,
  outbound: Outbound,
): Promise<void> {
  const { request, response, target, answerMs } = exchange
  const call: Call = {
    method: request.method ?? "GET",
    host: target.host,
    target: target.path,
    headers: new Map([...exchange.fields].map(([name, { values }]) => [name, values.join(", ")])),
  }
  const watched = watchClient(response)
  try {
    const answer = hasBody(request)
      ? await sendWithBody(exchange, call, routing, outbound, watched.opened)
      : await inTime(
          outbound.send(routing, call, exchange.headers, watched.opened).then(sent => sent.response),
          answerMs,
        )
    await relayAnswer(answer, response)
  } catch (error) {
    watched.giveUp()
    throw error
  }
}

async function sendWithBody(
  { request, headers, answerMs }: ForwardExchange,
  call: Call,
  routing: HostRouting,
  outbound: Outbound,
  opened: (exchange: Exchange) => void,
): Promise<IncomingMessage> {
  const framed =
    request.headers["content-length"] === undefined ? { ...headers, "Transfer-Encoding": "chunked" } : headers
  const exchange = await outbound.open(routing, call, framed)
  opened(exchange)
  // A server may answer, and close, before it has read everything: then its answer counts, not the rest of the body.
  const copied = copyBody(request, exchange.request).catch((error: unknown) => {
    exchange.request.destroy(error instanceof Error ? error : undefined)
  })
  const answered = exchange.response
  await Promise.race([copied, answered])
  return inTime(answered, answerMs)
}

/** The head and the body of an answer to the program that asked. */
export async function relayAnswer(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = asHeaderObject(endToEndHeaders(answer.rawHeaders))
  try {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? "", headers)
  } catch {
    throw new CallFailure("cut-off", "the server's answer has a head that cannot be passed on")
  }
  // Heads of event streams must not wait for the first event.
  response.flushHeaders()
  try {
    await copyBody(answer, response)
  } catch {
    // Half an answer must not look like a whole one.
    answer.destroy()
    response.destroy()
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"]
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0")
}

/** A program that goes away takes its request with it. */
function watchClient(response: ServerResponse) {
  let current: Exchange | undefined
  let isOver = false
  const giveUp = () => {
    isOver = true
    // With a reason of our own: a bare end looks like a kept connection that broke, and the request would be said again.
    current?.request.destroy(new CallFailure("cut-off", "nobody waits for the answer any more"))
  }
  response.once("close", () => {
    if (!response.writableFinished) giveUp()
  })
  return {
    giveUp,
    opened: (exchange: Exchange) => {
      current = exchange
      if (isOver || response.destroyed) giveUp()
    },
  }
}

export function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new CallFailure("too-late", `no answer within ${milliseconds} ms`))
    const timer = setTimeout(late, milliseconds)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
