// SPDX-License-Identifier: Apache-2.0
// The token rules of a workload in the search: where a token may be, who issued it, and which keys sign it. Two rules
// have a key in common if their key sets do; a fetched set is identified by its URL.

import { createHash } from "node:crypto"
import type { Dialect } from "../mesh/config.js"
import type { RequestAuthentication } from "../resources/document.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { byAge } from "../selection/workload.js"
import { scrubAudience } from "../tokens/audience.js"
import { parseKeySet } from "../tokens/key-set.js"
import { type Location, locationsOf } from "../tokens/locations.js"
import { keySetId, placesLookedAt } from "../tokens/program.js"
import { type ViewProfile, viewProfile } from "../tokens/view.js"

export interface ProofTokenRule {
  /** The rule's position, such as `namespace/name[0]`; if several rules are equivalent, the position of one of them. */
  readonly name: string
  readonly issuer: string | undefined
  /** Every spelling of an accepted audience; undefined accepts any audience, and none. */
  readonly audiences: readonly string[] | undefined
  readonly requireExpiration: boolean
  /** Ids of the keys; empty if no token can be verified. */
  readonly keys: readonly string[]
  readonly locations: readonly Location[]
  readonly required: boolean
  readonly delimited: ReadonlySet<string>
  /**
   * By header name in lower case: the sources of its value, of which the first that exists counts. A source is a path
   * of claims as JSON, or `null` for the payload.
   */
  readonly writes: ReadonlyMap<string, readonly string[]>
  readonly forward: boolean
  /** INVARIANT: rules with equal acceptance accept the same tokens and show authorization the same claims. */
  readonly acceptance: string
  /** INVARIANT: rules with equal ids have the same effect on every request. */
  readonly id: string
}

export function locationId(location: Location): string {
  return JSON.stringify([location.kind, location.name, location.kind === "header" ? location.prefix : ""])
}

/** In evaluation order, without duplicates. */
export function proofTokenRules(
  policies: readonly RequestAuthentication[],
  dialect?: Dialect,
): readonly ProofTokenRule[] {
  const rules = [...policies]
    .sort(byAge)
    .flatMap(({ metadata: { namespace, name }, spec }) =>
      (spec.jwtRules ?? []).map((rule, at) => ({ rule, name: `${namespace}/${name}[${at}]` })),
    )
  const looksAt = placesLookedAt(
    rules.map(({ rule }) => rule),
    dialect,
  )
  const ordered = rules
    .map(one => ({ ...one, bytes: Buffer.from(one.rule.issuer ?? "") }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ rule, name }) => proofTokenRule(rule, name, looksAt, dialect))
  return [...new Map(ordered.map(rule => [rule.id, rule])).values()]
}

function proofTokenRule(
  rule: JwtRule,
  name: string,
  looksAt: (location: Location) => boolean,
  dialect: Dialect | undefined,
): ProofTokenRule {
  const profile = viewProfile(rule)
  const facts = {
    issuer: rule.issuer,
    audiences: spellings(rule.audiences ?? []),
    requireExpiration: rule.requireExpiration ?? false,
    keys: keysOf(rule),
    locations: locationsOf(rule).filter(looksAt),
    required: dialect !== "istio" && rule.presence === "REQUIRED",
  }
  const { delimited } = profile
  const forward = rule.forwardOriginalToken ?? false
  const acceptance = JSON.stringify([facts, [...delimited].sort()])
  const id = JSON.stringify([acceptance, profile.id, forward])
  return { ...facts, name, delimited, writes: writesOf(profile), forward, acceptance, id }
}

function writesOf({ payloadHeader, claimHeaders }: ViewProfile): ProofTokenRule["writes"] {
  const writes = new Map<string, readonly string[]>(payloadHeader === "" ? [] : [[payloadHeader, ["null"]]])
  for (const { header, path } of claimHeaders) {
    writes.set(header, [...(writes.get(header) ?? []), JSON.stringify(path)])
  }
  return writes
}

/** One id per key, so that a set that loses one of two keys still has the other in common. */
export function keysOf(rule: JwtRule): readonly string[] {
  if (rule.jwks === undefined) return [`fetched ${keySetId(rule)}`]
  if (!parseKeySet(rule.jwks).ok) return []
  const parsed: { readonly keys?: readonly unknown[] } = JSON.parse(rule.jwks)
  const ids = (parsed.keys ?? []).map(key => JSON.stringify(key))
  return [...new Set(ids)].sort().map(id => `inline ${createHash("sha256").update(id).digest("hex").slice(0, 16)}`)
}

/** Audiences are compared after scrubbing: all texts that scrub to an accepted one. */
function spellings(configured: readonly string[]): readonly string[] | undefined {
  if (configured.length === 0) return undefined
  const accepted = [...new Set(configured.map(scrubAudience))].filter(audience => audience !== "").sort()
  return accepted.flatMap(audience =>
    ["", "https://", "http://"]
      .flatMap(scheme => [`${scheme}${audience}`, `${scheme}${audience}/`])
      .filter(spelled => scrubAudience(spelled) === audience),
  )
}
