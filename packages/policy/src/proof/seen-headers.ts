// SPDX-License-Identifier: Apache-2.0
// How one set of policies changes the headers that its rules read: token rules write claims to some, remove tokens from
// others, and some names cannot be set by callers. INVARIANT: if the value that rules see is not known, it is reported as
// unknown. Two sides see the same value of a header in every request if their treatments of it are equal.

import type { CompiledRule } from "../authorization/rule.js"
import type { Dialect } from "../mesh/config.js"
import type { ProtectedHeaders } from "../request/protected-headers.js"
import { parseConditionKey } from "../resources/authorization-policy/condition-key.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../resources/document.js"
import { isOwnHeader } from "../resources/header-name.js"
import type { Location } from "../tokens/locations.js"
import { type Frame, readsLocation } from "./frame.js"
import { locationId, type ProofTokenRule } from "./token-rules.js"

export type SeenHeader =
  | { readonly kind: "absent" }
  /** The value that the caller sent or that the proxy sets. */
  | { readonly kind: "received" }
  /** The value of the claim at this path, or no header. */
  | { readonly kind: "written"; readonly path: readonly string[] }
  /** The claims of a token, encoded. */
  | { readonly kind: "payload" }
  | { readonly kind: "unknown" }

/** The source of a header that contains the payload, which is then its only source. */
const PAYLOAD = "null"
const ABSENT: SeenHeader = { kind: "absent" }
const RECEIVED: SeenHeader = { kind: "received" }
const UNKNOWN: SeenHeader = { kind: "unknown" }

/** The header that contains a token at this location: `:path` for query parameters, `cookie` for cookies. */
export function headerOf({ kind, name }: Location): string {
  return kind === "header" ? name : kind === "cookie" ? "cookie" : ":path"
}

export class SeenHeaders {
  readonly #tokens: readonly ProofTokenRule[]
  readonly #protected: ProtectedHeaders
  readonly #treatments = new Map<string, string>()

  readonly #dialect: Dialect | undefined

  constructor(tokens: readonly ProofTokenRule[], protectedHeaders: ProtectedHeaders, dialect?: Dialect) {
    this.#dialect = dialect
    this.#tokens = tokens
    this.#protected = protectedHeaders
  }

  /**
   * INVARIANT: sides with equal treatments of a name show rules the same value of it, however many tokens there are.
   */
  treatment(name: string): string {
    let treatment = this.#treatments.get(name)
    if (treatment === undefined) {
      treatment = this.#protected.dropsHeader(name) ? "absent" : this.#dependsOnTokens(name) ? this.#edits(name) : ""
      this.#treatments.set(name, treatment)
    }
    return treatment
  }

  /** Whether tokens affect what rules see of the header. */
  readonly isEdited = (name: string): boolean => !this.#protected.dropsHeader(name) && this.#dependsOnTokens(name)

  writes(name: string): boolean {
    return this.#tokens.some(({ writes }) => writes.has(name))
  }

  /** Whether all rules that look for a token at this location forward it, or none does. */
  forwardsAlike(name: string): boolean {
    const carried = this.#tokens.filter(({ locations }) => locations.some(one => headerOf(one) === name))
    return new Set(carried.map(({ forward }) => forward)).size <= 1
  }

  /** What this side sees in requests of this frame. `tokensAt`: every location with a token, if there are no others. */
  seen(name: string, { token }: Frame, tokensAt?: readonly string[]): SeenHeader {
    if (this.#protected.dropsHeader(name)) return ABSENT
    if (!this.#dependsOnTokens(name)) return RECEIVED
    const untouched = typeof token === "string"
    if (this.writes(name)) return untouched ? ABSENT : this.#written(name, tokensAt)
    const carried = this.#tokens.filter(({ locations }) => locations.some(one => headerOf(one) === name))
    if (token === "preflight") return RECEIVED
    const places = carried.flatMap(({ locations }) => locations.filter(one => headerOf(one) === name))
    // If the whole value of a header is a token, there is no such header without a token.
    const whole = places.every(one => one.kind === "header" && one.prefix === "")
    const filled = tokensAt && places.filter(one => tokensAt.includes(locationId(one)))
    if (untouched || filled?.length === 0) return whole ? ABSENT : RECEIVED
    if (!places.every(({ kind }) => kind === "header")) return UNKNOWN
    if (carried.every(({ forward }) => forward)) return RECEIVED
    if (carried.some(({ forward }) => forward)) return UNKNOWN
    // Istio's proxy removes only the tokens of the rule that decides.
    if (this.#dialect === "istio" && this.#tokens.length > 1 && !places.some(one => locationId(one) === token.at))
      return UNKNOWN
    return whole || filled !== undefined || places.some(one => locationId(one) === token.at) ? ABSENT : UNKNOWN
  }

  /** The value that the rules that can accept one of the tokens write. */
  #written(name: string, tokensAt: readonly string[] | undefined): SeenHeader {
    const writers = this.#tokens.filter(rule => tokensAt?.some(place => readsLocation(rule, place)) ?? true)
    const sources = new Set(writers.flatMap(({ writes }) => writes.get(name) ?? []))
    if (sources.size === 0) return ABSENT
    // Istio's proxy writes a line for each claim.
    if (this.#dialect === "istio" && writers.some(({ writes }) => (writes.get(name)?.length ?? 0) > 1)) return UNKNOWN
    const isPayload = writers.every(({ writes }) => writes.get(name)?.join() === PAYLOAD)
    return isPayload ? { kind: "payload" } : writtenFrom(sources)
  }

  #dependsOnTokens(name: string): boolean {
    // The proxy sets the value that rules see, so no token changes it.
    if (isOwnHeader(name)) return false
    return this.#tokens.some(
      ({ writes, locations }) => writes.has(name) || locations.some(one => this.#carries(one, name)),
    )
  }

  /** Whether the header carries tokens from this location. Istio's proxy leaves cookies unchanged. */
  #carries(location: Location, name: string): boolean {
    return headerOf(location) === name && (location.kind !== "cookie" || this.#dialect !== "istio")
  }

  #edits(name: string): string {
    return JSON.stringify(
      this.#tokens.map(({ acceptance, forward, writes, locations }) => [
        acceptance,
        writes.get(name) ?? [],
        forward && locations.some(one => headerOf(one) === name),
      ]),
    )
  }
}

/** With several claims, any of them may be the value; a witness shows the first. */
function writtenFrom(sources: ReadonlySet<string>): SeenHeader {
  const path = [...sources].map((source): unknown => JSON.parse(source)).find(isPath)
  return path === undefined ? UNKNOWN : { kind: "written", path }
}

const isPath = (value: unknown): value is readonly string[] => Array.isArray(value)

/** Names of the headers that rules read, in lower case. */
export function headersRead(rules: readonly CompiledRule[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { from, to, when } of rules) {
    for (const clause of [...from, ...to, when]) {
      for (const { attribute } of clause) addHeader(attribute.name, names)
    }
  }
  return names
}

/** The same for documents that have not been compiled. */
export function headersNamed(documents: readonly PolicyDocument[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { kind, spec } of documents) {
    if (kind !== "AuthorizationPolicy") continue
    for (const name of headersNamedBy(spec.rules ?? [])) names.add(name)
  }
  return names
}

export function headersNamedBy(rules: readonly Rule[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { when = [] } of rules) for (const { key } of when) addHeader(key, names)
  return names
}

function addHeader(key: string, names: Set<string>): void {
  if (!key.startsWith("request.headers")) return
  const parsed = parseConditionKey(key)
  if (!("problem" in parsed) && parsed.attribute === "request.headers") names.add(parsed.name)
}
