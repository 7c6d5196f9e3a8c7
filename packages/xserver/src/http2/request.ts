// SPDX-License-Identifier: Apache-2.0
// A request of an HTTP/2 stream as the same value that the HTTP/1.1 codec makes of one, so that both are judged and
// forwarded by the same code. Every name and value goes through the strict header parser: what HTTP/2 can frame and
// HTTP/1.1 cannot must not become a second request behind the first (RFC 9113 section 10.3).

import type { HttpFault } from "../http/fault.js"
import { FIELD_KIND } from "../http/field-kind.js"
import { CHUNKED, NO_BODY, requestFraming } from "../http/framing.js"
import { methodFault } from "../http/method.js"
import { isHost, parseTarget } from "../http/target.js"
import { parseHeaderLines } from "../http1/header-block.js"
import type { RequestHead } from "../http1/request-head.js"
import type { Limits } from "../limits.js"
import type { HeaderList } from "./application/application.js"

/** `raw` is names and values in turn; `ended` where the headers end the stream. */
export function readRequest(
  raw: readonly string[],
  ended: boolean,
  { headerBytes, headerLines }: Pick<Limits, "headerBytes" | "headerLines">,
): RequestHead | HttpFault {
  // Node holds to what we announced only once the peer has acknowledged it.
  if (raw.reduce((sum, text) => sum + text.length + 2, 0) > headerBytes) return "head-too-large"
  const pseudo = new Map<string, string>()
  const cookies: string[] = []
  let host: string | undefined
  let text = ""
  let lines = 1
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? ""
    const value = raw[index + 1] ?? ""
    if (name.startsWith(":")) {
      // RFC 9113 section 8.3: each at most once. nghttp2 sees to it; fail closed should it not.
      if (pseudo.has(name)) return "bad-request-line"
      pseudo.set(name, value)
    } else if (name === "cookie") {
      cookies.push(value)
    } else if (name === "host") {
      if (host !== undefined) return "two-hosts"
      host = value
    } else {
      text += `${name}: ${value}\r\n`
      lines++
    }
  }
  const method = pseudo.get(":method") ?? ""
  const path = pseudo.get(":path") ?? ""
  const refused = methodFault(method)
  if (refused !== undefined) return refused
  // With `:protocol` it would be a WebSocket (RFC 8441), which we never offer to carry in this way.
  if (pseudo.has(":protocol")) return "connect-refused"
  const authority = pseudo.get(":authority") ?? host
  if (authority === undefined || authority === "") return "no-host"
  // RFC 9113 section 8.3.1: a Host that differs from the authority makes the request malformed.
  if (host !== undefined && host.toLowerCase() !== authority.toLowerCase()) return "two-hosts"
  if (!isHost(authority)) return "bad-host"
  const target = parseTarget(method, path)
  if (target === undefined || target.host !== undefined) return "bad-target"

  // RFC 9113 section 8.2.3: the pieces of a cookie are one header again for everybody behind us.
  const cookie = cookies.length === 0 ? "" : `cookie: ${cookies.join("; ")}\r\n`
  const headers = parseHeaderLines(`host: ${authority}\r\n${cookie}${text}\r\n`, 0, headerLines + 1)
  if (typeof headers === "string") return headers
  // INVARIANT: nghttp2 lets no line break through. Fail closed: more or fewer lines than there were headers is one.
  if (headers.size !== lines + (cookies.length === 0 ? 0 : 1)) return "bad-header-value"
  for (let index = 0; index < headers.size; index++) {
    const kind = headers.kind(index)
    // RFC 9113 section 8.2.2: a message with headers about the connection is malformed.
    const ofConnection =
      kind === FIELD_KIND.connection || kind === FIELD_KIND.transferEncoding || kind === FIELD_KIND.upgrade
    if (ofConnection) return "bad-header-name"
  }
  const declared = requestFraming(headers, 1)
  if (typeof declared === "string") return declared
  const unsized = declared.kind === "none" ? CHUNKED : declared
  const expect = headers.get("expect")?.[0]?.toLowerCase()
  return {
    method,
    target: target.target,
    host: authority,
    minorVersion: 1,
    headers,
    framing: ended ? (declared.kind === "length" ? declared : NO_BODY) : unsized,
    keepAlive: true,
    upgrade: undefined,
    expectsContinue: expect === "100-continue",
  }
}

/** Header lines after the content; those that HTTP/1.1 could not write are left out. */
export function readTrailers(raw: readonly string[]): HeaderList {
  const list: (readonly [string, string])[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? ""
    const value = raw[index + 1] ?? ""
    const line = parseHeaderLines(`${name}: ${value}\r\n\r\n`, 0, 1)
    if (typeof line !== "string" && line.size === 1 && line.value(0) === value.trim()) list.push([name, value])
  }
  return list
}

/** gRPC has its own way of being refused. */
export function isGrpc({ headers }: RequestHead): boolean {
  return headers.get("content-type")?.[0]?.toLowerCase().startsWith("application/grpc") ?? false
}
