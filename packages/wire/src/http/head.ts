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
  /** Absent only if an HTTP/1.0 client sent none. Rules distinguish an absent host from an empty one. */
  readonly host: string | undefined
  /** The scheme of a target in absolute form, which clients send to forward proxies (RFC 9112 section 3.2.2). */
  readonly scheme?: "http" | "https" | undefined
  readonly headers: Fields
  readonly framing: Framing
  /** Whether the client wants to keep the connection open (RFC 9112 section 9.3). */
  readonly keepAlive: boolean
  /** The protocols of a valid upgrade request. */
  readonly upgrade: string | undefined
  readonly expectsContinue: boolean
}

export interface ResponseHead {
  readonly status: number
  /** Empty if the application's version of HTTP has no reason phrase. */
  readonly reason: string
  readonly headers: Fields
  readonly framing: Framing
  /** Whether trailers may follow the content. */
  readonly trailers: boolean
  /** If the same head was parsed before: the HTTP/1.1 text that it was encoded as. */
  readonly written?: WrittenHead | undefined
}

/** An encoded head, and what the text depends on besides the head. */
export interface WrittenHead {
  toHead: boolean
  version: HttpVersion
  framing: Framing["kind"]
  connection: string
  text: string
}
