// SPDX-License-Identifier: Apache-2.0
// A request as a person describes it, and the equivalent connection and bytes. Defaults: plaintext, `GET /`, no token.

import type { Connection, HttpRequest } from "../judge.js"
import type { Claim } from "../request/attributes.js"
import { type IpAddress, parseIp } from "../request/ip.js"
import { parseSpiffeId } from "../request/spiffe-id.js"
import { readHeaders } from "./described-headers.js"
import { RequestDescriptionError } from "./request-description-error.js"

export interface DescribedToken {
  readonly claims: { readonly [name: string]: Claim }
  /** The token expired an hour ago. */
  readonly expired?: boolean
  /** The token is signed with a key that no rule knows. */
  readonly forged?: boolean
  /** The header that contains it; `Authorization: Bearer` by default. */
  readonly header?: string
  readonly prefix?: string
  readonly param?: string
  readonly cookie?: string
}

export interface DescribedRequest {
  readonly protocol?: "http" | "tcp"
  /** The caller, as in policies: `cluster.local/ns/foo/sa/sleep`. Absent for a plaintext connection. */
  readonly from?: string
  readonly ip?: string
  /** The workload's own address. */
  readonly destinationIp?: string
  readonly port?: number
  readonly sni?: string
  readonly method?: string
  /** With its query; null for a request without one. */
  readonly host?: string | null
  readonly path?: string
  readonly headers?: { readonly [name: string]: string | readonly string[] }
  /** Claims to be signed, or the exact text of a token. */
  readonly token?: DescribedToken | string
}

export function connectionOf(asked: DescribedRequest): Connection {
  const { from, port = 8080, sni } = asked
  const peer = from === undefined ? undefined : parseSpiffeId(`spiffe://${from.replace(/^spiffe:\/\//, "")}`)
  if (from !== undefined && peer === undefined) {
    throw new RequestDescriptionError(
      `\`${from}\` is no identity; write \`<trust domain>/ns/<namespace>/sa/<service account>\`, as \`cluster.local/ns/foo/sa/sleep\``,
    )
  }
  return {
    peer,
    sourceIp: address(asked.ip ?? "10.0.0.9"),
    destinationIp: address(asked.destinationIp ?? "10.0.0.1"),
    destinationPort: port,
    sni,
  }
}

function address(text: string): IpAddress {
  const parsed = parseIp(text)
  if (parsed === undefined) throw new RequestDescriptionError(`\`${text}\` is no address; write one as \`10.0.0.9\``)
  return parsed
}

/** `signed` creates the text of a token that is described by its claims. */
export function requestOf(
  asked: DescribedRequest,
  hostOfWorkload: string,
  signed: (token: DescribedToken) => string,
): HttpRequest {
  const { lines: headers, host: named } = readHeaders(asked.headers ?? {})
  const { method = "GET", path = "/", host = named ?? hostOfWorkload, token } = asked
  if (named !== undefined && host !== named) {
    throw new RequestDescriptionError(
      `the host is \`${host ?? "none"}\`, and the header \`Host\` says \`${named}\`; say it once`,
    )
  }
  let target = path
  if (token !== undefined) {
    const place: Omit<DescribedToken, "claims"> = typeof token === "string" ? {} : token
    const text = typeof token === "string" ? token : signed(token)
    if (place.param !== undefined) {
      target += `${path.includes("?") ? "&" : "?"}${encodeURIComponent(place.param)}=${encodeURIComponent(text)}`
    } else if (place.cookie !== undefined) add(headers, "cookie", `${place.cookie}=${text}`)
    else if (place.header !== undefined) add(headers, place.header.toLowerCase(), `${place.prefix ?? ""}${text}`)
    else add(headers, "authorization", `${place.prefix ?? "Bearer "}${text}`)
  }
  return {
    method,
    scheme: asked.from === undefined ? "http" : "https",
    host: host === null ? undefined : host,
    target,
    headers,
  }
}

function add(headers: Map<string, string[]>, name: string, value: string): void {
  headers.set(name, [...(headers.get(name) ?? []), value])
}
