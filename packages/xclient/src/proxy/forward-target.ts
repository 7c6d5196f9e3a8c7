// SPDX-License-Identifier: Apache-2.0
// The target of a request to a forward proxy: absolute form names host, port and path (RFC 9112 section 3.2.2), CONNECT
// a host and a port. The target's host counts, whatever the Host header says.

import type { RequestHead } from "@merlon/wire/http"
import { CallFailure } from "../call/call-failure.js"
import { parseAuthority } from "../routes/authority.js"

export interface ForwardTarget {
  readonly host: string
  readonly port: number
}

type Asked = Pick<RequestHead, "method" | "scheme" | "host" | "target">

const HTTP_PORT = 80

/** Throws a CallFailure if the request is not for a forward proxy. */
export function forwardTarget({ method, scheme, host = "", target }: Asked): ForwardTarget {
  const authority = parseAuthority(host)
  if (method === "CONNECT") {
    if (authority?.port === undefined) throw new CallFailure("bad-request", "CONNECT needs `HOST:PORT`")
    return { host: authority.host, port: authority.port }
  }
  // RFC 9110 section 4.2.5: a fragment is never sent.
  if (scheme !== "http" || authority === undefined || target.includes("#"))
    throw new CallFailure("bad-request", "this is a forward proxy: request `http://HOST/PATH`, or use CONNECT")
  return { host: authority.host, port: authority.port ?? HTTP_PORT }
}

const MAX_SHOWN = 200

/** For a log: without the query, which may contain secrets. */
export function shownTarget({ scheme, host = "", target }: Asked): string {
  const [path = ""] = target.split("?", 1)
  return `${scheme === undefined ? "" : `${scheme}://`}${host}${path}`.slice(0, MAX_SHOWN)
}
