// SPDX-License-Identifier: Apache-2.0
// Parses a request's fields strictly (RFC 9113 section 8). Returns an unambiguous value that is safe to forward, or the
// error for which the request is rejected; never throws. Also writes request heads for a server.

import { CHUNKED, type Framing, NO_BODY, requestFraming } from "../http/framing.js"
import type { RequestHead } from "../http/head.js"
import type { HttpError } from "../http/http-error.js"
import { methodError } from "../http/method.js"
import type { OutgoingRequest } from "../http/outgoing-request.js"
import { isHost, parseTarget } from "../http/target.js"
import { Field } from "./field.js"
import { FIELD_KIND } from "./field-kind.js"
import { FieldList } from "./field-list.js"
import type { HpackEncoder } from "./hpack/encoder.js"
import { WEBSOCKET_KEY } from "./tunnel.js"

/** RFC 3986 section 3.1. */
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/

/** The values of the pseudo-headers, one field each. */
class Pseudo {
  method: string | undefined = undefined
  scheme: string | undefined = undefined
  path: string | undefined = undefined
  authority: string | undefined = undefined
  protocol: string | undefined = undefined

  /**
   * Stores the value. False if the name is repeated or unknown. Computed property names would be looked up each time.
   */
  take({ name, value }: Field): boolean {
    switch (name) {
      case ":method":
        if (this.method !== undefined) return false
        this.method = value
        return true
      case ":scheme":
        if (this.scheme !== undefined) return false
        this.scheme = value
        return true
      case ":path":
        if (this.path !== undefined) return false
        this.path = value
        return true
      case ":authority":
        if (this.authority !== undefined) return false
        this.authority = value
        return true
      case ":protocol":
        if (this.protocol !== undefined) return false
        this.protocol = value
        return true
      default:
        return false
    }
  }
}

/** `ended`: no content follows. */
export function readRequestHead(list: readonly Field[], ended: boolean): RequestHead | HttpError {
  const pseudo = new Pseudo()
  const start = readPseudo(list, pseudo)
  if (typeof start === "string") return start
  const fields: Field[] = []
  const read = readRegular(list, start, fields)
  if (typeof read === "string") return read
  const error = routeError(pseudo)
  if (error !== undefined) return error
  const { method = "", path = "", protocol } = pseudo
  const authority = pseudo.authority ?? read.host
  if (authority === undefined || authority === "") return "no-host"
  // RFC 9113 section 8.3.1: a Host that differs from the authority makes the request malformed.
  if (read.host !== undefined && read.host.toLowerCase() !== authority.toLowerCase()) return "two-hosts"
  if (!isHost(authority)) return "bad-host"
  // RFC 8441 section 4, expressed as in HTTP/1.1, so that rules and applications see the same: GET with an upgrade.
  const asked = protocol === undefined ? method : "GET"
  const target = parseTarget(asked, path)
  if (target === undefined || target.host !== undefined) return "bad-target"
  if (read.host === undefined) fields.push(hostField(authority))
  const headers = new FieldList(fields)
  const framing = contentFraming(headers, ended, protocol !== undefined)
  if (typeof framing === "string") return framing
  return {
    version: "h2",
    method: asked,
    target: target.target,
    host: authority,
    headers,
    framing,
    keepAlive: true,
    upgrade: protocol,
    expectsContinue: headers.has(FIELD_KIND.expect) && headers.get("expect")?.[0]?.toLowerCase() === "100-continue",
  }
}

/** Trailers of a request or a response, which must not contain pseudo-headers (RFC 9113 section 8.1). */
export function readTrailers(list: readonly Field[]): FieldList | HttpError {
  for (const { error, pseudo } of list) {
    if (pseudo) return "bad-pseudo-header"
    if (error !== undefined) return error
  }
  return new FieldList(list)
}

/**
 * Returns where the regular fields begin. RFC 9113 section 8.3: pseudo-headers come first, each once, and no unknown
 * ones.
 */
function readPseudo(list: readonly Field[], pseudo: Pseudo): number | HttpError {
  let index = 0
  for (; index < list.length; index++) {
    const field = list[index]
    if (field?.pseudo !== true) break
    if (field.error !== undefined) return field.error
    if (!pseudo.take(field)) return "bad-pseudo-header"
  }
  return index
}

function readRegular(
  list: readonly Field[],
  start: number,
  fields: Field[],
): { readonly host: string | undefined } | HttpError {
  let host: string | undefined
  let cookie = -1
  for (let index = start; index < list.length; index++) {
    const field = list[index]
    if (field === undefined) break
    if (field.pseudo) return "bad-pseudo-header"
    if (field.error !== undefined) return field.error
    if (field.kind !== FIELD_KIND.plain) {
      if (isOfConnection(field)) return "bad-header-name"
      if (field.kind === FIELD_KIND.host) {
        if (host !== undefined) return "two-hosts"
        host = field.value
      } else if (field.kind === FIELD_KIND.cookie) {
        const before = fields[cookie]
        // RFC 9113 section 8.2.3: the parts of a cookie are joined to one header again for the application.
        if (before !== undefined) {
          fields[cookie] = new Field("cookie", `${before.value}; ${field.value}`, before.sensitive || field.sensitive)
          continue
        }
        cookie = fields.length
      }
    }
    fields.push(field)
  }
  return { host }
}

/** RFC 9113 section 8.2.2: a message with connection-specific fields is malformed. */
export function isOfConnection({ kind, name, value }: Field): boolean {
  switch (kind) {
    case FIELD_KIND.connection:
    case FIELD_KIND.transferEncoding:
    case FIELD_KIND.upgrade:
      return true
    case FIELD_KIND.te:
      return value.toLowerCase() !== "trailers"
    case FIELD_KIND.hop:
      return name === "keep-alive" || name === "proxy-connection"
    default:
      return false
  }
}

/** Checks the pseudo-headers (RFC 9113 sections 8.3.1 and 8.5, RFC 8441 section 4). */
function routeError({ method, scheme, path, protocol }: Pseudo): HttpError | undefined {
  if (method === undefined || method === "") return "bad-pseudo-header"
  if (method === "CONNECT" && protocol === undefined) {
    return scheme === undefined && path === undefined ? "connect-rejected" : "bad-pseudo-header"
  }
  if (scheme === undefined || !SCHEME.test(scheme) || path === undefined || path === "") return "bad-pseudo-header"
  if (protocol !== undefined && (method !== "CONNECT" || protocol === "")) return "bad-pseudo-header"
  const error = protocol === undefined ? methodError(method) : undefined
  return error === "bad-request-line" ? "bad-pseudo-header" : error
}

function contentFraming(headers: FieldList, ended: boolean, tunnel: boolean): Framing | HttpError {
  const declared = requestFraming(headers, 1)
  if (typeof declared === "string") return declared
  // RFC 9113 section 8.1.1: the declared length must match the content.
  if (ended && declared.kind === "length" && declared.length > 0) return "bad-length"
  if (tunnel) return NO_BODY
  if (ended) return declared
  return declared.kind === "length" ? declared : CHUNKED
}

let lastHost = new Field("host", "", false)

/** Cached, because callers mostly use one host, and creating a field costs more than comparing. */
function hostField(authority: string): Field {
  if (lastHost.value !== authority) lastHost = new Field("host", authority, false)
  return lastHost
}

/** Adds the request to the current block; with `protocol`, as a tunnel for it (RFC 8441 section 4). */
export function writeRequestHead(encoder: HpackEncoder, request: OutgoingRequest, protocol?: string): void {
  const { headers, framing } = request
  encoder.field(":method", protocol === undefined ? request.method : "CONNECT")
  if (protocol !== undefined) encoder.field(":protocol", protocol)
  encoder.field(":scheme", request.scheme)
  encoder.field(":authority", request.host ?? "")
  encoder.field(":path", request.target)
  for (let index = 0; index < headers.size; index++) {
    const name = headers.name(index)
    if (protocol !== undefined && name === WEBSOCKET_KEY) continue
    if (request.keeps(index)) encoder.field(name, headers.value(index), headers.sensitive(index))
  }
  request.added((name, value) => encoder.field(name, value))
  if (framing.kind === "length") encoder.field("content-length", String(framing.length))
  if (request.takesTrailers) encoder.field("te", "trailers")
}
