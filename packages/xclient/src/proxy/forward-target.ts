// SPDX-License-Identifier: Apache-2.0
// What a request to a forward proxy asks for: absolute form names host, port and path (RFC 9112 section 3.2.2). The
// target's host counts, whatever the Host header says.

import { parseAuthority } from "../routes/authority.js"

export interface ForwardTarget {
  readonly host: string
  readonly port: number
  /** As it is to be sent as Host. */
  readonly authority: string
  /** Path and query. */
  readonly path: string
}

const ABSOLUTE = /^http:\/\/([^/?#]*)([^#]*)$/i

/** Undefined where it is no request for a forward proxy. */
export function forwardTarget(url: string): ForwardTarget | undefined {
  const [, authority = "", rest = ""] = ABSOLUTE.exec(url) ?? []
  const parsed = parseAuthority(authority)
  if (parsed === undefined) return undefined
  const path = rest.startsWith("/") ? rest : `/${rest}`
  return { host: parsed.host, port: parsed.port ?? 80, authority, path }
}

const MAX_SHOWN = 200

/** For a log: without what may be as good as a password, which is a query, and whatever stands before the host. */
export function shownTarget(url: string): string {
  return url
    .replace(/[?#].*$/s, "")
    .replace(/^([a-z]+:\/\/)?[^/]*@/i, "$1")
    .slice(0, MAX_SHOWN)
}
