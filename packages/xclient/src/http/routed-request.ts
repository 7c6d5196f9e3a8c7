// SPDX-License-Identifier: Apache-2.0
// A request of the workload as it is forwarded: hop-by-hop headers are removed, everything else is unchanged (RFC 9110
// section 7.6).

import { nominatedHeaders } from "@merlon/policy/request"
import { FIELD_KIND } from "@merlon/wire"
import {
  type Fields,
  type Framing,
  hasOption,
  isRejected,
  type OutgoingRequest,
  REQUEST_ID_HEADER,
  type RequestHead,
  upgradeOf,
} from "@merlon/wire/http"
import type { ObservedRequest } from "../observe/observed-request.js"
import type { Call } from "../routes/call.js"

/** Headers that apply to this hop only, or that depend on the server's version of HTTP. */
const HOP: ReadonlySet<number> = new Set([
  FIELD_KIND.host,
  FIELD_KIND.contentLength,
  FIELD_KIND.transferEncoding,
  FIELD_KIND.connection,
  FIELD_KIND.hop,
  FIELD_KIND.te,
  FIELD_KIND.upgrade,
])

export class RoutedRequest implements OutgoingRequest {
  readonly scheme = "http"
  readonly method: string
  readonly target: string
  readonly host: string | undefined
  readonly framing: Framing
  readonly upgrade: string | undefined
  /** All calls are from the same workload. */
  readonly caller = ""
  readonly headers: Fields
  readonly #isHttp10: boolean
  readonly #observed: Pick<ObservedRequest, "requestId" | "trace">
  readonly #via: string | undefined

  /** `via`: the name of a forward proxy for the `Via` header (RFC 9110 section 7.6.3). */
  constructor(head: RequestHead, observed: Pick<ObservedRequest, "requestId" | "trace">, via?: string) {
    this.method = head.method
    this.target = head.target
    this.host = head.host
    this.framing = head.framing
    this.upgrade = offeredProtocols(head)
    this.headers = head.headers
    this.#isHttp10 = head.version === "http/1.0"
    this.#observed = observed
    this.#via = via
    removeNominated(head.headers)
  }

  readonly keeps = (index: number): boolean => {
    const kind = this.headers.kind(index)
    if (kind === FIELD_KIND.expect) return !this.#isHttp10
    if (HOP.has(kind)) return false
    if (kind === FIELD_KIND.requestId) return this.#observed.requestId === undefined
    const traced = this.#observed.trace?.headers
    return traced === undefined || !traced.some(([name]) => name === this.headers.name(index))
  }

  /**
   * Adds the id and the trace by which both proxies report the request. The server's proxy adds the caller's identity.
   */
  added(write: (name: string, value: string) => void): void {
    const { requestId, trace } = this.#observed
    if (this.#via !== undefined) write("via", `${this.#isHttp10 ? "1.0" : "1.1"} ${this.#via}`)
    if (requestId !== undefined) write(REQUEST_ID_HEADER, requestId)
    for (const [name, value] of trace?.headers ?? []) if (value !== undefined) write(name, value)
  }

  get takesTrailers(): boolean {
    const { headers } = this
    if (!headers.has(FIELD_KIND.te)) return false
    return (headers.get("te") ?? []).some(value => hasOption(value.toLowerCase(), "trailers"))
  }
}

/** Removes the headers that `Connection` names: they apply to this hop only (RFC 9110 section 7.6.1). */
export function removeNominated(headers: Fields): void {
  if (!headers.has(FIELD_KIND.connection)) return
  const nominated = nominatedHeaders(headers.get("connection"))
  if (nominated !== undefined) headers.remove(nominated)
}

/** All protocols that the program offers: the server's proxy decides which of them are allowed. */
function offeredProtocols(head: RequestHead): string | undefined {
  if (head.upgrade === undefined) return undefined
  const offered = head.upgrade.split(",").map(protocol => protocol.trim())
  const upgrade = upgradeOf(head, offered)
  return isRejected(upgrade) ? undefined : upgrade
}

/** The request as routes read it. Headers are converted when a route reads them. */
export class RoutedCall implements Call {
  readonly method: string
  readonly host: string
  readonly target: string
  readonly #fields: Fields
  #headers: ReadonlyMap<string, string> | undefined

  constructor({ method, host = "", target, headers }: RequestHead) {
    this.method = method
    this.host = host.replace(/:\d+$/, "").toLowerCase()
    this.target = target
    this.#fields = headers
  }

  get headers(): ReadonlyMap<string, string> {
    this.#headers ??= joined(this.#fields)
    return this.#headers
  }
}

function joined(fields: Fields): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (let index = 0; index < fields.size; index++) {
    const name = fields.name(index)
    const before = headers.get(name)
    headers.set(name, before === undefined ? fields.value(index) : `${before}, ${fields.value(index)}`)
  }
  return headers
}
