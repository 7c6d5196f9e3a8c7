// SPDX-License-Identifier: Apache-2.0
// The heads of a request and of a response, shared by both versions of HTTP.

import type { Fields } from "./fields.js"
import type { Framing } from "./framing.js"

export type HttpVersion = "http/1.0" | "http/1.1" | "h2"

export interface RequestHead {
  readonly version: HttpVersion
  readonly method: string
  /** In origin form, or `*`; empty for CONNECT. */
  readonly target: string
  /** Absent where an HTTP/1.0 client named none: absence has a meaning of its own for rules. */
  readonly host: string | undefined
  /** That of a target in absolute form, as forward proxies are sent it (RFC 9112 section 3.2.2). */
  readonly scheme?: "http" | "https" | undefined
  readonly headers: Fields
  readonly framing: Framing
  /** Whether the client wants to go on using the connection (RFC 9112 section 9.3). */
  readonly keepAlive: boolean
  /** The protocols it would rather speak, where it asked properly. */
  readonly upgrade: string | undefined
  readonly expectsContinue: boolean
}

export interface ResponseHead {
  readonly status: number
  /** Empty where the application's version of HTTP has none. */
  readonly reason: string
  readonly headers: Fields
  readonly framing: Framing
  /** Whether header lines may follow the content. */
  readonly trailers: boolean
  /** Where one like it has come before, and it is the same one again: what it was written as to an HTTP/1 client. */
  readonly written?: WrittenHead | undefined
}

/** A text, and what it depends on besides the head. */
export interface WrittenHead {
  toHead: boolean
  version: HttpVersion
  framing: Framing["kind"]
  connection: string
  text: string
}
