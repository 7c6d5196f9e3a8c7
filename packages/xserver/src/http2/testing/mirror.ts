// SPDX-License-Identifier: Apache-2.0
// An application that echoes its requests, and a client's view of the responses.
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2"
import { expect } from "vitest"
import { type AppListener, ask } from "./http2-rig.js"

/** Responds with a description of the request. */
export const mirror: AppListener = (request, response) => {
  const chunks: Buffer[] = []
  request.on("data", chunk => chunks.push(chunk))
  request.on("end", () => {
    const { method, url, headers, trailers } = request
    const body = Buffer.concat(chunks).toString("latin1")
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ method, url, headers, trailers, body }))
  })
}

/** Resolves on `close`, whatever caused it. */
export function closed(stream: ClientHttp2Stream): Promise<void> {
  return new Promise(resolve =>
    stream
      .on("error", () => undefined)
      .once("close", () => resolve())
      .resume(),
  )
}

export async function seen(session: ClientHttp2Session, headers = {}, body?: string) {
  const answer = await ask(session, headers, body)
  expect(answer.status).toBe(200)
  return JSON.parse(answer.body.toString())
}
