// SPDX-License-Identifier: Apache-2.0
// The locations where a rule looks for its token. The default is `Authorization: Bearer` and the query parameter
// `access_token`. A header's prefix must be at the start of the value. In the two headers that carry credentials, a
// prefix that looks like an authentication scheme is compared without case (RFC 9110 section 11.1), also when configured,
// and ends at the end of the scheme's name: whatever separator follows, a tab or worse, the rest is a credential of that
// scheme. Every other prefix is compared exactly. Istio's proxy finds every prefix anywhere in the value, and by its case.

import type { Dialect } from "../mesh/config.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"

export interface HeaderLocation {
  readonly kind: "header"
  /** Lower case. */
  readonly name: string
  /** The empty prefix selects the whole value. */
  readonly prefix: string
  /** Whether the prefix is an authentication scheme. */
  readonly scheme: boolean
}

export type Location = HeaderLocation | { readonly kind: "param" | "cookie"; readonly name: string }

const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization"])
const SCHEME_CHARACTER = /[!#$%&'*+.^_`|~0-9A-Za-z-]/
const SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ *$/

const DEFAULTS: readonly Location[] = [
  headerLocation("authorization", "Bearer "),
  { kind: "param", name: "access_token" },
]

/** In collection order: headers by name and prefix, then parameters, then cookies, each sorted. */
export function locationsOf({ fromHeaders = [], fromParams = [], fromCookies = [] }: JwtRule): readonly Location[] {
  if (fromHeaders.length + fromParams.length + fromCookies.length === 0) return DEFAULTS
  const headers = new Map<string, HeaderLocation>()
  for (const { name, prefix = "" } of fromHeaders)
    headers.set(name.toLowerCase() + prefix, headerLocation(name, prefix))
  return [
    ...[...headers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, location]) => location),
    ...sorted(fromParams).map((name): Location => ({ kind: "param", name })),
    ...sorted(fromCookies).map((name): Location => ({ kind: "cookie", name })),
  ]
}

function headerLocation(name: string, prefix: string): HeaderLocation {
  const lower = name.toLowerCase()
  return { kind: "header", name: lower, prefix, scheme: CREDENTIALS.has(lower) && SCHEME.test(prefix) }
}

/** The token in the header line; undefined if the prefix is missing, which is not an error. */
export function tokenIn(line: string, location: HeaderLocation, dialect?: Dialect): string | undefined {
  const value = trimmed(line)
  if (location.prefix === "") return value
  const start = dialect === "istio" ? endOf(value, location.prefix) : endOfPrefix(value, location)
  if (start === undefined) return undefined
  for (let at = start; at < value.length; at++) if (isTokenCharacter(value.charCodeAt(at))) return value.slice(at)
  // Nothing in the value can be a token, so the whole value is treated as one, and rejected.
  return value
}

function endOfPrefix(value: string, { prefix, scheme }: HeaderLocation): number | undefined {
  if (scheme) return schemeEnd(value, prefix)
  return value.startsWith(prefix) ? prefix.length : undefined
}

function endOf(value: string, prefix: string): number | undefined {
  const at = value.indexOf(prefix)
  return at < 0 ? undefined : at + prefix.length
}

/**
 * The end of the scheme in the value. After a prefix with a trailing space, the name must end and something must
 * follow.
 */
function schemeEnd(value: string, prefix: string): number | undefined {
  if (value.startsWith(prefix)) return prefix.length
  const name = prefix.trimEnd()
  if (value.slice(0, name.length).toLowerCase() !== name.toLowerCase()) return undefined
  if (name === prefix) return name.length
  return value.length > name.length && !SCHEME_CHARACTER.test(value.charAt(name.length)) ? name.length : undefined
}

// RFC 9110 section 5.5: whitespace around a field value is not part of it. HTTP/2 stacks do not always remove it.
function trimmed(line: string): string {
  return isBlank(line.charCodeAt(0)) || isBlank(line.charCodeAt(line.length - 1)) ? line.trim() : line
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** Letters, digits, `-`, `_` and `.`. */
function isTokenCharacter(code: number): boolean {
  if (code >= 0x61) return code <= 0x7a
  if (code >= 0x41) return code <= 0x5a || code === 0x5f
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2e
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}
