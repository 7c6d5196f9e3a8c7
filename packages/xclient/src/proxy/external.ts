// SPDX-License-Identifier: Apache-2.0
// Hosts outside of the mesh, where they are allowed: a plain forward proxy, without routes and without our credentials.

import { Agent, request as httpRequest, type IncomingMessage } from "node:http"
import { connect, type Socket } from "node:net"
import { CallFailure } from "../call/call-failure.js"
import { copyBody } from "./copy-body.js"
import { type ForwardExchange, hasBody, inTime, relayAnswer } from "./forward.js"

export async function forwardExternally(exchange: ForwardExchange): Promise<void> {
  const { request, response, target, headers, answerMs } = exchange
  const framed =
    hasBody(request) && request.headers["content-length"] === undefined
      ? { ...headers, "Transfer-Encoding": "chunked" }
      : headers
  const { host, port, path } = target
  // A connection per request: which of them may be kept for whom is not ours to know.
  const agent = new Agent({ keepAlive: false })
  const sent = httpRequest({ agent, host, port, path, method: request.method, headers: framed, setHost: false })
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("response", resolve)
    sent.on("error", error => reject(CallFailure.of(error)))
    // Comes alone after an answer that Node tells nobody of, such as a switch of protocols.
    sent.once("close", () => reject(new CallFailure("cut-off", "the server closed the connection without an answer")))
  })
  response.once("close", () => {
    if (!response.writableFinished) sent.destroy()
  })
  if (hasBody(request)) copyBody(request, sent).catch(() => sent.destroy())
  else sent.end()
  try {
    await relayAnswer(await inTime(answer, answerMs), response)
  } catch (error) {
    sent.destroy()
    throw error
  }
}

export function tunnelExternally(
  target: { readonly host: string; readonly port: number },
  timeoutMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, allowHalfOpen: true })
    const fail = (why: string) => {
      socket.destroy()
      reject(new CallFailure("unreachable", `cannot connect to ${target.host}:${target.port}: ${why}`))
    }
    const onError = (error: Error) => fail(error.message)
    socket.setTimeout(timeoutMs, () => fail(`no connection within ${timeoutMs} ms`))
    socket.once("error", onError)
    socket.once("connect", () => {
      socket.setTimeout(0)
      socket.off("error", onError)
      resolve(socket)
    })
  })
}
