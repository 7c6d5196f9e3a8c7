// SPDX-License-Identifier: Apache-2.0
// The attributes of a request that a decision may use. The component that terminates the connection fills them in once;
// the evaluator only reads. A missing attribute is absent, never an empty value, because absence has its own meaning for
// every rule.

import type { IpAddress } from "./ip.js"
import type { SpiffeId } from "./spiffe-id.js"

/** Header lines by lower-case name, one entry per line as received. A plain `Map` satisfies it. */
export interface HeaderLines {
  get(lowerCaseName: string): readonly string[] | undefined
}

export interface HttpAttributes {
  /** As received: methods are case-sensitive. */
  readonly method: string
  /** `:authority` or `Host`, with its port if it has one; absent if the request has neither, as HTTP/1.0 may. */
  readonly host: string | undefined
  readonly scheme: string
  /** Normalised (see `normalizePath`), without query. */
  readonly path: string
  /** From the question mark on, as received; empty if there is none. */
  readonly query: string
  readonly headers: HeaderLines
}

/** A claim value as JSON has it. */
export type Claim = string | number | boolean | null | readonly Claim[] | { readonly [name: string]: Claim }

/** What the token stage passes to authorization after a signature was verified. */
export interface VerifiedToken {
  /** Absent if the token has no string claim with that name. */
  readonly issuer: string | undefined
  readonly subject: string | undefined
  /** Space-delimited claims are lists here. Has no prototype, so `__proto__` is an ordinary name. */
  readonly claims: { readonly [name: string]: Claim }
}

export interface Attributes {
  /** The identity that the peer proved by mTLS. */
  readonly peer: SpiffeId | undefined
  /** The TCP peer. */
  readonly sourceIp: IpAddress
  /** The client according to trusted proxies; the TCP peer if none is trusted. */
  readonly remoteIp: IpAddress
  readonly destinationIp: IpAddress
  /** The workload's own port, not the Service's. */
  readonly destinationPort: number
  readonly sni: string | undefined
  /** Absent for a TCP connection, which is judged only by its connection attributes. */
  readonly http: HttpAttributes | undefined
  readonly token: VerifiedToken | undefined
}
