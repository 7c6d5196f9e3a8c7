// SPDX-License-Identifier: Apache-2.0
// The head of a response as the client gets it: its hop's headers are ours to write, everything else is the
// application's.

import { FIELD_KIND, type FieldKind } from "../http/field-kind.js"
import type { Framing } from "../http/framing.js"
import { removeNominated } from "./forward-request.js"
import type { RequestHead } from "./request-head.js"
import type { ResponseHead } from "./response-head.js"

/** Whether the connection goes on. HTTP/1.0 clients have to be told that it does, others that it does not. */
export function connectionLine(keepAlive: boolean, minorVersion: number): string {
  if (!keepAlive) return "connection: close\r\n"
  return minorVersion === 0 ? "connection: keep-alive\r\n" : ""
}

/** How the content travels to this client: what HTTP/1.0 cannot frame ends with the connection. */
export function framingFor(response: ResponseHead, request: RequestHead): Framing["kind"] {
  const { kind } = response.framing
  if (kind === "none" || kind === "length") return kind
  return request.minorVersion === 1 ? "chunked" : "close"
}

export function responseHeadText(
  response: ResponseHead,
  request: RequestHead,
  framing: Framing["kind"],
  connection: string,
): string {
  const { headers, status } = response
  removeNominated(headers)
  let text = `HTTP/1.1 ${status} ${response.reason}\r\n`
  let encoded = framing === "chunked"
  let length = ""
  let from = 0
  let until = 0
  for (let index = 0; index < headers.size; index++) {
    const kind = headers.kind(index)
    // The answer to HEAD says how the content would have come (RFC 9110 section 9.3.2).
    if (kind === FIELD_KIND.transferEncoding && request.method === "HEAD" && request.minorVersion === 1) encoded = true
    if (!keeps(kind, status)) continue
    if (kind === FIELD_KIND.contentLength && headers.line(index).includes("\t")) {
      // Not every client finds a number beside a tab.
      length = `content-length: ${headers.value(index)}\r\n`
      continue
    }
    const start = headers.lineStart(index)
    if (start !== until) {
      text += headers.text.slice(from, until)
      from = start
    }
    until = headers.lineEnd(index)
  }
  text += headers.text.slice(from, until)
  if (encoded) text += "transfer-encoding: chunked\r\n"
  return `${text}${length}${connection}\r\n`
}

function keeps(kind: FieldKind, status: number): boolean {
  switch (kind) {
    case FIELD_KIND.connection:
    case FIELD_KIND.hop:
    case FIELD_KIND.te:
    case FIELD_KIND.transferEncoding:
      return false
    case FIELD_KIND.upgrade:
      return status === 101 || status === 426
    case FIELD_KIND.contentLength:
      // RFC 9110 section 8.6: not with these.
      return status >= 200 && status !== 204
    default:
      return true
  }
}

/** Trailers that can only be content's own. */
export function keepsResponseTrailer(name: string): boolean {
  return name !== "set-cookie" && name !== "trailer"
}
