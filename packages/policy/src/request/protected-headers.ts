// SPDX-License-Identifier: Apache-2.0
// Which headers of a caller reach rules and the application. Verified claims, tokens and the proxy's own headers have
// names that no caller may use, in any spelling: many applications treat the punctuation in names alike. INVARIANT: the
// proxy, `judge` and the proofs all use this table, so that none of them sees a header that another removes.

import type { Dialect, MeshConfig } from "../mesh/config.js"
import { isOwnHeader, OWN_HEADERS } from "../resources/header-name.js"

/** About one hop, about framing, or written by the proxy, which does not forward them as a caller sent them. */
export const PROXY_HEADERS = [
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  // Part of the HTTP/1.1 way into HTTP/2, which the proxy does not offer: what went through it would not be judged.
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
 * The one spelling of a lower-case name for applications that cannot tell its signs apart: where headers become variables
 * (RFC 3875 section 4.1.18) most make `_` of `-`, and some of every sign that a name may have, as lighttpd, or of `.`, as PHP.
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
  /** As configured: the token stage or the proxy decides what becomes of these. */
  readonly #exact: ReadonlySet<string>
  readonly #folded: ReadonlySet<string>
  readonly #prefix: string
  readonly #dialect: Dialect | undefined
  /** Headers that rules read, asked for when first needed: most requests have no trailer. */
  readonly #headersRead: () => ReadonlySet<string>
  #read: ReadonlySet<string> | undefined

  /** `asked`: providers that CUSTOM policies of the workload name. */
  constructor(
    { outputs, headers }: TokenHeaders,
    { names, providers, dialect }: MeshConfig,
    headersRead: () => ReadonlySet<string>,
    asked: ReadonlySet<string>,
  ) {
    this.#headersRead = headersRead
    this.#dialect = dialect
    this.#exact = new Set([...OWN_HEADERS, ...outputs, ...headers])
    // What a provider writes no caller may write, also where the provider is not asked about the request.
    const written = providers.flatMap(({ name, headersToUpstream }) => (asked.has(name) ? headersToUpstream : []))
    this.#folded = new Set([...this.#exact, ...written].map(foldedName))
    this.#prefix = `x-${names.mesh}-`
  }

  /** Whether a header only resembles a protected one: neither rules nor the application see it. */
  dropsHeader(lowerCaseName: string): boolean {
    // Istio's proxy compares names as they are.
    if (this.#dialect === "istio" || this.#exact.has(lowerCaseName)) return false
    const folded = foldedName(lowerCaseName)
    return this.#protects(folded) || (folded !== lowerCaseName && isProxyHeader(folded))
  }

  /** Whether a trailer is a protected header, or one that a rule reads, in any spelling: it comes after the decision. */
  dropsTrailer(lowerCaseName: string): boolean {
    return this.#protects(foldedName(lowerCaseName)) || this.readsHeader(lowerCaseName)
  }

  /** Whether a rule reads the header, in any spelling. What the proxy writes itself it does not read of the request. */
  readsHeader(lowerCaseName: string): boolean {
    this.#read ??= new Set([...this.#headersRead()].map(foldedName).filter(name => !isOwnHeader(name)))
    return this.#read.has(foldedName(lowerCaseName))
  }

  #protects(folded: string): boolean {
    return folded.startsWith(this.#prefix) || this.#folded.has(folded)
  }
}

/**
 * Lower-case names of the headers that `Connection` keeps from going further (RFC 9110 section 7.6.1); undefined where it
 * names none. A caller cannot take out what frames the message or says whom it is for.
 */
export function nominatedHeaders(connection: readonly string[] | undefined): readonly string[] | undefined {
  let nominated: string[] | undefined
  for (const line of connection ?? []) {
    for (const option of line.toLowerCase().split(",")) {
      const name = option.trim()
      // Most say `close`, `keep-alive` or `upgrade`, which name nothing that is left.
      if (name === "" || name === "close" || isProxyHeader(name)) continue
      nominated ??= []
      nominated.push(name)
    }
  }
  return nominated
}
