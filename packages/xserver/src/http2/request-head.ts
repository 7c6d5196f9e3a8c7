// SPDX-License-Identifier: Apache-2.0
// A request's fields, read strictly (RFC 9113 section 8): a value that is safe to forward and means one thing, or the
// fault for which it is refused, never a throw; and written as the application gets them.

import type { HttpFault } from "../http/fault.js"
import { FIELD_KIND } from "../http/field-kind.js"
import type { ForwardedRequest } from "../http/forwarded-request.js"
import { CHUNKED, type Framing, NO_BODY, requestFraming } from "../http/framing.js"
import type { RequestHead } from "../http/head.js"
import { methodFault } from "../http/method.js"
import { isHost, parseTarget } from "../http/target.js"
import { Field } from "./field.js"
import { FieldList } from "./field-list.js"
import type { HpackEncoder } from "./hpack/encoder.js"

/** RFC 3986 section 3.1. */
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/

interface Pseudo {
  method: string | undefined
  scheme: string | undefined
  path: string | undefined
  authority: string | undefined
  protocol: string | undefined
}

/** `ended` where no content follows. */
export function readRequestHead(list: readonly Field[], ended: boolean): RequestHead | HttpFault {
  const pseudo: Pseudo = {
    method: undefined,
    scheme: undefined,
    path: undefined,
    authority: undefined,
    protocol: undefined,
  }
  const start = readPseudo(list, pseudo)
  if (typeof start === "string") return start
  const fields: Field[] = []
  const read = readRegular(list, start, fields)
  if (typeof read === "string") return read
  const fault = routeFault(pseudo)
  if (fault !== undefined) return fault
  const { method = "", path = "", protocol } = pseudo
  const authority = pseudo.authority ?? read.host
  if (authority === undefined || authority === "") return "no-host"
  // RFC 9113 section 8.3.1: a Host that differs from the authority makes the request malformed.
  if (read.host !== undefined && read.host.toLowerCase() !== authority.toLowerCase()) return "two-hosts"
  if (!isHost(authority)) return "bad-host"
  // RFC 8441 section 4, in the words of HTTP/1.1, which say the same to rules and applications: GET, with an upgrade.
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

/** Trailers of a request or a response: pseudo-headers have no place there (RFC 9113 section 8.1). */
export function readTrailers(list: readonly Field[]): FieldList | HttpFault {
  for (const { fault, pseudo } of list) {
    if (pseudo) return "bad-pseudo-header"
    if (fault !== undefined) return fault
  }
  return new FieldList(list)
}

/** Where the other fields begin. RFC 9113 section 8.3: pseudo-headers first, each once, and none that nobody knows. */
function readPseudo(list: readonly Field[], pseudo: Pseudo): number | HttpFault {
  let index = 0
  for (; index < list.length; index++) {
    const field = list[index]
    if (field?.pseudo !== true) break
    if (field.fault !== undefined) return field.fault
    const name = field.name.slice(1)
    if (!isPseudo(name) || pseudo[name] !== undefined) return "bad-pseudo-header"
    pseudo[name] = field.value
  }
  return index
}

function isPseudo(name: string): name is keyof Pseudo {
  return name === "method" || name === "scheme" || name === "path" || name === "authority" || name === "protocol"
}

function readRegular(
  list: readonly Field[],
  start: number,
  fields: Field[],
): { readonly host: string | undefined } | HttpFault {
  let host: string | undefined
  let cookie = -1
  for (let index = start; index < list.length; index++) {
    const field = list[index]
    if (field === undefined) break
    if (field.pseudo) return "bad-pseudo-header"
    if (field.fault !== undefined) return field.fault
    if (field.kind !== FIELD_KIND.plain) {
      if (isOfConnection(field)) return "bad-header-name"
      if (field.kind === FIELD_KIND.host) {
        if (host !== undefined) return "two-hosts"
        host = field.value
      } else if (field.kind === FIELD_KIND.cookie) {
        const before = fields[cookie]
        // RFC 9113 section 8.2.3: the pieces of a cookie are one header again for everybody behind us.
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

/** RFC 9113 section 8.2.2: a message with fields about the connection is malformed. */
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

/** RFC 9113 sections 8.3.1 and 8.5, RFC 8441 section 4. */
function routeFault({ method, scheme, path, protocol }: Pseudo): HttpFault | undefined {
  if (method === undefined || method === "") return "bad-pseudo-header"
  if (method === "CONNECT" && protocol === undefined) {
    return scheme === undefined && path === undefined ? "connect-refused" : "bad-pseudo-header"
  }
  if (scheme === undefined || !SCHEME.test(scheme) || path === undefined || path === "") return "bad-pseudo-header"
  if (protocol !== undefined && (method !== "CONNECT" || protocol === "")) return "bad-pseudo-header"
  const fault = protocol === undefined ? methodFault(method) : undefined
  return fault === "bad-request-line" ? "bad-pseudo-header" : fault
}

function contentFraming(headers: FieldList, ended: boolean, tunnel: boolean): Framing | HttpFault {
  const declared = requestFraming(headers, 1)
  if (typeof declared === "string") return declared
  // RFC 9113 section 8.1.1: the length must be that of the content.
  if (ended && declared.kind === "length" && declared.length > 0) return "bad-length"
  if (tunnel) return NO_BODY
  if (ended) return declared
  return declared.kind === "length" ? declared : CHUNKED
}

let lastHost = new Field("host", "", false)

/** Callers mostly ask for one host, and making a field costs more than comparing. */
function hostField(authority: string): Field {
  if (lastHost.value !== authority) lastHost = new Field("host", authority, false)
  return lastHost
}

/** Adds the request to the block in hand. */
export function writeRequestHead(encoder: HpackEncoder, request: ForwardedRequest): void {
  const { headers, framing } = request
  encoder.field(":method", request.method)
  encoder.field(":scheme", "http")
  encoder.field(":authority", request.host ?? "")
  encoder.field(":path", request.target)
  for (let index = 0; index < headers.size; index++) {
    if (request.keeps(index)) encoder.field(headers.name(index), headers.value(index), headers.sensitive(index))
  }
  request.added((name, value) => encoder.field(name, value))
  if (framing.kind === "length") encoder.field("content-length", String(framing.length))
  if (request.takesTrailers) encoder.field("te", "trailers")
}
