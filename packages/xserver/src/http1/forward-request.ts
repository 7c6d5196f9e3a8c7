// SPDX-License-Identifier: Apache-2.0
// The head of a request as the application gets it: what belonged to the client's hop is gone, what the judgement
// changed is changed, and the names under which only the gate speaks say what the gate knows.

import type { RequestEdits } from "@merlon/policy"
import type { ProtectedHeaders } from "../enforcement/protected-headers.js"
import { FIELD_KIND, fieldName } from "../http/field-kind.js"
import type { HeaderBlock } from "./header-block.js"
import { hasOption, type RequestHead } from "./request-head.js"

/** What is the same for all requests of a connection. */
export interface ForwardedConnection {
  /** Header lines, each with its line end. */
  readonly lines: string
  /** Of the TCP peer, for `x-forwarded-for`. */
  readonly address: string
}

export type HeaderEdits = Omit<RequestEdits, "target">

export interface ForwardedRequest {
  readonly head: RequestHead
  readonly target: string
  readonly edits: HeaderEdits
  readonly requestId: string
  /** Set where the client may be switched to another protocol. */
  readonly upgrade: string | undefined
  /** Lower-case names of headers that stay with the client's hop. */
  readonly nominated?: readonly string[] | undefined
}

export function requestHeadText(
  { head, target, edits, requestId, upgrade, nominated }: ForwardedRequest,
  connection: ForwardedConnection,
): string {
  const { headers, framing } = head
  let text = `${head.method} ${target} HTTP/1.1\r\nhost: ${head.host ?? ""}\r\n`
  let forwardedFor = ""
  let trailers = false
  const edited = edits.removeHeaders.length > 0 || edits.setHeaders.length > 0
  let from = 0
  let until = 0
  for (let index = 0; index < headers.size; index++) {
    const kind = headers.kind(index)
    let keep = kind === FIELD_KIND.plain
    if (kind === FIELD_KIND.cookie) keep = edits.cookie === undefined
    else if (kind === FIELD_KIND.expect) keep = head.minorVersion === 1
    else if (kind === FIELD_KIND.forwardedFor) forwardedFor += `${headers.value(index)}, `
    else if (kind === FIELD_KIND.te) trailers ||= hasOption(headers.value(index).toLowerCase(), "trailers")
    if (keep) {
      const name = headers.name(index)
      if (edited) keep = !isEdited(name, edits)
      if (nominated?.includes(name) === true) keep = false
      if (keep && name.includes("_")) keep = !isOurs(name, edits)
    }
    if (!keep) continue
    const start = headers.lineStart(index)
    // Lines that stand together are copied together.
    if (start !== until) {
      text += headers.text.slice(from, until)
      from = start
    }
    until = headers.lineEnd(index)
  }
  text += headers.text.slice(from, until)
  for (const [name, value] of edits.setHeaders) text += `${name}: ${value}\r\n`
  if (edits.cookie !== undefined && edits.cookie !== "") text += `cookie: ${edits.cookie}\r\n`
  text += `x-forwarded-for: ${forwardedFor}${connection.address}\r\n${connection.lines}x-request-id: ${requestId}\r\n`
  if (framing.kind === "length") text += `content-length: ${framing.length}\r\n`
  else if (framing.kind === "chunked") text += "transfer-encoding: chunked\r\n"
  if (upgrade !== undefined) text += `connection: upgrade\r\nupgrade: ${upgrade}\r\n`
  else if (trailers) text += "te: trailers\r\nconnection: te\r\n"
  return `${text}\r\n`
}

/**
 * Whether a header says something that only we may say, or that was to be removed. Many applications cannot tell `_`
 * from `-` in a name (RFC 3875 section 4.1.18), so neither do we here.
 */
function isOurs(name: string, edits: HeaderEdits): boolean {
  const alias = name.replaceAll("_", "-")
  const { kind } = fieldName(alias)
  const ours =
    kind === FIELD_KIND.cookie ? edits.cookie !== undefined : kind !== FIELD_KIND.plain && kind !== FIELD_KIND.expect
  return ours || isEdited(alias, edits)
}

function isEdited(name: string, { removeHeaders, setHeaders }: HeaderEdits): boolean {
  return removeHeaders.includes(name) || setHeaders.some(([set]) => set === name)
}

/** Headers that mean something before the content and could be mistaken for it after (RFC 9110 section 6.5.1). */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  "authorization",
  "content-encoding",
  "content-range",
  "content-type",
  "forwarded",
  "range",
  "set-cookie",
  "trailer",
  "x-forwarded-host",
  "x-forwarded-port",
])

/** An application may take trailers for headers, and nobody has judged them. */
export function keepsRequestTrailer(name: string, edits: HeaderEdits, headers: ProtectedHeaders): boolean {
  if (headers.dropsTrailer(name)) return false
  const alias = name.replaceAll("_", "-")
  return fieldName(alias).kind === FIELD_KIND.plain && !NOT_IN_TRAILERS.has(alias) && !isOurs(alias, edits)
}

/** Takes out what `Connection` names: it was meant for us alone (RFC 9110 section 7.6.1). */
export function removeNominated(headers: HeaderBlock): void {
  const nominated = nominatedNames(headers)
  if (nominated !== undefined) headers.remove(nominated)
}

/** Lower-case names of the headers that `Connection` names; undefined where it names none. */
export function nominatedNames(headers: HeaderBlock): readonly string[] | undefined {
  if (!headers.has(FIELD_KIND.connection)) return undefined
  let nominated: string[] | undefined
  for (let index = 0; index < headers.size; index++) {
    if (headers.kind(index) !== FIELD_KIND.connection) continue
    for (const option of headers.value(index).toLowerCase().split(",")) {
      const name = option.trim()
      // Most say `close`, `keep-alive` or `upgrade`, which name nothing that is left. Framing has been read already,
      // and who the request is for is not the client's to take out.
      if (name === "" || name === "close" || fieldName(name).kind !== FIELD_KIND.plain) continue
      nominated ??= []
      nominated.push(name)
    }
  }
  return nominated
}
