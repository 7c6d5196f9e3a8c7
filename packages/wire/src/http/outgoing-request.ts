// SPDX-License-Identifier: Apache-2.0
// A request as it is sent to a server. The forwarder decides the contents, and the server's HTTP version decides the
// encoding. The headers are the received ones; the forwarder says which are kept and which are added.

import type { Fields } from "./fields.js"
import type { Framing } from "./framing.js"

export interface OutgoingRequest {
  readonly method: string
  /** In origin form, or `*`. */
  readonly target: string
  readonly host: string | undefined
  /** Sent as `:scheme` over HTTP/2. HTTP/1.1 has no field for it. */
  readonly scheme: "http" | "https"
  readonly framing: Framing
  /** The protocols that the connection may be switched to; undefined for an ordinary request. */
  readonly upgrade: string | undefined
  /** The caller whose fair share of the pool this request counts against. */
  readonly caller: string
  /** The received header lines; `keeps` says which of them are sent. */
  readonly headers: Fields
  readonly keeps: (index: number) => boolean
  /** Writes the lines that the forwarder adds after those that it keeps. */
  added(write: (name: string, value: string) => void): void
  /** Whether the client accepts trailers (RFC 9110 section 10.1.4). */
  readonly takesTrailers: boolean
}
