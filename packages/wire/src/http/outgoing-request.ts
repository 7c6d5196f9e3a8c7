// SPDX-License-Identifier: Apache-2.0
// A request as it is sent to a server: the forwarder decides its contents, and the server's HTTP version how it is
// written. The headers are the received ones; the forwarder says which are kept and what is added.

import type { Fields } from "./fields.js"
import type { Framing } from "./framing.js"

export interface OutgoingRequest {
  readonly method: string
  /** In origin form, or `*`. */
  readonly target: string
  readonly host: string | undefined
  /** HTTP/2 sends it as `:scheme`. HTTP/1.1 has no place for it. */
  readonly scheme: "http" | "https"
  readonly framing: Framing
  /** The protocols that the connection may be switched to; undefined where the request is an ordinary one. */
  readonly upgrade: string | undefined
  /** Requests are shared out fairly among callers: whose share this one counts against. */
  readonly caller: string
  /** The lines that came in; `keeps` says which of them are sent. */
  readonly headers: Fields
  readonly keeps: (index: number) => boolean
  /** The lines that the forwarder adds, after those that it keeps. */
  added(write: (name: string, value: string) => void): void
  /** Whether the client accepts trailers (RFC 9110 section 10.1.4). */
  readonly takesTrailers: boolean
}
