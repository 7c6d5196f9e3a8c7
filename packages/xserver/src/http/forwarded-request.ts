// SPDX-License-Identifier: Apache-2.0
// A request as the application receives it: hop-by-hop headers are removed, the edits of the decision are applied, and
// reserved names have the proxy's values. Computed once; the HTTP version of the application decides how it is written.

import { foldedName, nominatedHeaders, type ProtectedHeaders } from "@merlon/policy/request"
import type { RequestEdits } from "@merlon/policy/tokens"
import { FIELD_KIND, fieldName } from "@merlon/wire"
import type { FieldPairs, Fields, Framing, OutgoingRequest, RequestHead } from "@merlon/wire/http"
import { hasOption } from "@merlon/wire/http"

/** What all requests of a connection have in common. */
export interface ForwardedConnection {
  /** Lower-case names with their values. */
  readonly fields: FieldPairs
  /** Address of the TCP peer, for `x-forwarded-for`. */
  readonly address: string
  /** The caller whose share the requests count against. */
  readonly caller: string
}

export type HeaderEdits = Omit<RequestEdits, "target">

export class ForwardedRequest implements OutgoingRequest {
  /** Whatever the client uses, the application is reached in cleartext. */
  readonly scheme = "http"
  readonly method: string
  readonly target: string
  readonly host: string | undefined
  readonly framing: Framing
  /** Set if the client may upgrade to another protocol. */
  readonly upgrade: string | undefined
  readonly #head: RequestHead
  readonly #edits: HeaderEdits
  readonly #edited: boolean
  readonly #requestId: string
  readonly #connection: ForwardedConnection
  readonly #protected: ProtectedHeaders

  constructor(
    head: RequestHead,
    { target, edits }: { readonly target: string; readonly edits: HeaderEdits },
    requestId: string,
    upgrade: string | undefined,
    connection: ForwardedConnection,
    protectedHeaders: ProtectedHeaders,
  ) {
    this.method = head.method
    this.target = target
    this.host = head.host
    this.framing = head.framing
    this.upgrade = upgrade
    this.#head = head
    this.#edits = edits
    this.#edited = edits.removeHeaders.length > 0 || edits.setHeaders.length > 0
    this.#requestId = requestId
    this.#connection = connection
    this.#protected = protectedHeaders
  }

  /** The caller whose share the request counts against. */
  get caller(): string {
    return this.#connection.caller
  }

  /** The client's headers; `keeps` selects the lines that are forwarded. */
  get headers(): Fields {
    return this.#head.headers
  }

  readonly keeps = (index: number): boolean => {
    const { headers, version } = this.#head
    const kind = headers.kind(index)
    let keep = kind === FIELD_KIND.plain
    if (kind === FIELD_KIND.cookie) keep = this.#edits.cookie === undefined
    else if (kind === FIELD_KIND.expect) keep = version !== "http/1.0"
    if (!keep) return false
    const name = headers.name(index)
    if (this.#edited && isEdited(name, this.#edits)) return false
    return !this.#protected.dropsHeader(name)
  }

  /** The proxy's headers, written after the client's lines. */
  added(write: (name: string, value: string) => void): void {
    const { setHeaders, cookie } = this.#edits
    const { fields, address } = this.#connection
    for (const [name, value] of setHeaders) write(name, value)
    if (cookie !== undefined && cookie !== "") write("cookie", cookie)
    write("x-forwarded-for", `${this.#forwardedFor()}${address}`)
    for (const [name, value] of fields) write(name, value)
    write("x-request-id", this.#requestId)
  }

  /** Whether the client accepts trailers (RFC 9110 section 10.1.4). */
  get takesTrailers(): boolean {
    const { headers } = this.#head
    if (!headers.has(FIELD_KIND.te)) return false
    return valuesOf(headers, FIELD_KIND.te).some(value => hasOption(value.toLowerCase(), "trailers"))
  }

  #forwardedFor(): string {
    const { headers } = this.#head
    if (!headers.has(FIELD_KIND.forwardedFor)) return ""
    return valuesOf(headers, FIELD_KIND.forwardedFor)
      .map(value => `${value}, `)
      .join("")
  }
}

function valuesOf(headers: Fields, kind: number): string[] {
  const values: string[] = []
  for (let index = 0; index < headers.size; index++) if (headers.kind(index) === kind) values.push(headers.value(index))
  return values
}

/** Whether only the proxy may set the header, or it was to be removed. */
function isOurs(folded: string, edits: HeaderEdits): boolean {
  const { kind } = fieldName(folded)
  const ours =
    kind === FIELD_KIND.cookie ? edits.cookie !== undefined : kind !== FIELD_KIND.plain && kind !== FIELD_KIND.expect
  return ours || isEdited(folded, edits)
}

function isEdited(name: string, { removeHeaders, setHeaders }: HeaderEdits): boolean {
  return removeHeaders.includes(name) || setHeaders.some(([set]) => set === name)
}

/**
 * Headers that have a meaning before the content and could be mistaken for headers after it (RFC 9110 section 6.5.1).
 */
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

/** An application may treat trailers as headers, and no policy has evaluated them. */
export function keepsRequestTrailer(name: string, edits: HeaderEdits, headers: ProtectedHeaders): boolean {
  if (headers.dropsTrailer(name)) return false
  const folded = foldedName(name)
  return fieldName(folded).kind === FIELD_KIND.plain && !NOT_IN_TRAILERS.has(folded) && !isOurs(folded, edits)
}

/** Removes the headers that `Connection` names: they apply to this hop only (RFC 9110 section 7.6.1). */
export function removeNominated(headers: Fields): void {
  if (!headers.has(FIELD_KIND.connection)) return
  const nominated = nominatedHeaders(headers.get("connection"))
  if (nominated !== undefined) headers.remove(nominated)
}
