// SPDX-License-Identifier: Apache-2.0
// Answers that come from the gate itself: refusals, and words for an application that does not answer. The text says
// what happened and nothing about policies.

import { STATUS_CODES } from "node:http"
import type { UpstreamFailure } from "../observe/meters.js"

export interface LocalReply {
  readonly status: number
  readonly body: string
  /** Header lines, each with its line end. */
  readonly lines: string
}

export const UPSTREAM_REPLIES: { readonly [failure in UpstreamFailure]: LocalReply } = {
  connect: unavailable("upstream connect error: the application accepts no connection"),
  "connect-timeout": unavailable("upstream connect error: connecting to the application timed out"),
  reset: unavailable("upstream disconnect: the application closed the connection before it answered"),
  "pending-full": unavailable("upstream overflow: too many requests wait for the application"),
  protocol: { status: 502, body: "upstream protocol error: the application's response is malformed", lines: "" },
  "response-timeout": { status: 504, body: "upstream request timeout", lines: "" },
}

/** `connection` is a whole header line or nothing. */
export function localReplyText({ status, body, lines }: LocalReply, method: string, connection: string): string {
  const type = body === "" ? "" : "content-type: text/plain\r\n"
  const head =
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${type}content-length: ${body.length}\r\n` +
    `${lines}${connection}date: ${new Date().toUTCString()}\r\n\r\n`
  return method === "HEAD" ? head : head + body
}

function unavailable(body: string): LocalReply {
  return { status: 503, body, lines: "" }
}
