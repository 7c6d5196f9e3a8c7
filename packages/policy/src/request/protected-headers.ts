// SPDX-License-Identifier: Apache-2.0
// Decides which headers of a caller reach rules and the application. No caller may use the names of verified claims,
// tokens and the proxy's own headers, in any spelling: many applications do not distinguish the punctuation in names.
// INVARIANT: the proxy, `judge` and the proofs all use this table, so that none of them sees a header that another
// removes.

import type { Dialect, MeshConfig } from "../mesh/config.js"
import { isOwnHeader, OWN_HEADERS } from "../resources/header-name.js"

/**
 * Headers about one hop or about framing, and headers that the proxy writes itself: a caller's values are not
 * forwarded.
 */
export const PROXY_HEADERS = [
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  // Part of the upgrade from HTTP/1.1 to HTTP/2, which the proxy does not offer: requests after it would not be judged.
  "http2-settings",
  "te",
  "upgrade",
  "expect",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-client-cert",
  "x-request-id",
  "cookie",
] as const

const PROXY_NAMES: ReadonlySet<string> = new Set(PROXY_HEADERS)

const SIGN = /[^a-z0-9-]/
const SIGNS = /[^a-z0-9-]/g

/**
 * The common spelling of a lower-case name for applications that cannot distinguish its punctuation. Where headers
 * become variables (RFC 3875 section 4.1.18), most replace `-` by `_`; some replace all punctuation, as lighttpd does,
 * or also `.`, as PHP does.
 */
export function foldedName(lower: string): string {
  return SIGN.test(lower) ? lower.replace(SIGNS, "-") : lower
}

function isProxyHeader(lower: string): boolean {
  return PROXY_NAMES.has(lower) || lower.startsWith("proxy-")
}

/** Lower-case names of the headers that token rules write, and of those in which they look for tokens. */
interface TokenHeaders {
  readonly outputs: readonly string[]
  readonly headers: readonly string[]
}

export class ProtectedHeaders {
  /** The configured names: the token stage or the proxy decides what happens to these headers. */
  readonly #exact: ReadonlySet<string>
  readonly #folded: ReadonlySet<string>
  readonly #prefix: string
  readonly #dialect: Dialect | undefined
  /** The headers that rules read; computed on first use, because most requests have no trailer. */
  readonly #headersRead: () => ReadonlySet<string>
  #read: ReadonlySet<string> | undefined

  /** `asked`: the providers that the workload's CUSTOM policies name. */
  constructor(
    { outputs, headers }: TokenHeaders,
    { names, providers, dialect }: MeshConfig,
    headersRead: () => ReadonlySet<string>,
    asked: ReadonlySet<string>,
  ) {
    this.#headersRead = headersRead
    this.#dialect = dialect
    this.#exact = new Set([...OWN_HEADERS, ...outputs, ...headers])
    // No caller may write the headers that a provider writes, even if the provider is not asked about the request.
    const written = providers.flatMap(({ name, headersToUpstream }) => (asked.has(name) ? headersToUpstream : []))
    this.#folded = new Set([...this.#exact, ...written].map(foldedName))
    this.#prefix = `x-${names.mesh}-`
  }

  /** Whether a header only resembles a protected one: neither rules nor the application see it. */
  dropsHeader(lowerCaseName: string): boolean {
    // Istio's proxy compares names exactly.
    if (this.#dialect === "istio" || this.#exact.has(lowerCaseName)) return false
    const folded = foldedName(lowerCaseName)
    return this.#protects(folded) || (folded !== lowerCaseName && isProxyHeader(folded))
  }

  /** Whether a trailer is a protected header, or one that a rule reads, in any spelling: it comes after the decision. */
  dropsTrailer(lowerCaseName: string): boolean {
    return this.#protects(foldedName(lowerCaseName)) || this.readsHeader(lowerCaseName)
  }

  /** Whether a rule reads the header, in any spelling. Headers that the proxy writes itself do not count. */
  readsHeader(lowerCaseName: string): boolean {
    this.#read ??= new Set([...this.#headersRead()].map(foldedName).filter(name => !isOwnHeader(name)))
    return this.#read.has(foldedName(lowerCaseName))
  }

  #protects(folded: string): boolean {
    return folded.startsWith(this.#prefix) || this.#folded.has(folded)
  }
}

/**
 * Lower-case names of the headers that `Connection` removes before forwarding (RFC 9110 section 7.6.1); undefined if it
 * names none. A caller cannot remove headers that frame the message or name its destination.
 */
export function nominatedHeaders(connection: readonly string[] | undefined): readonly string[] | undefined {
  let nominated: string[] | undefined
  for (const line of connection ?? []) {
    for (const option of line.toLowerCase().split(",")) {
      const name = option.trim()
      // Most values are `close`, `keep-alive` or `upgrade`, which name no remaining header.
      if (name === "" || name === "close" || isProxyHeader(name)) continue
      nominated ??= []
      nominated.push(name)
    }
  }
  return nominated
}
