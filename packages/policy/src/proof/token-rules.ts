// SPDX-License-Identifier: Apache-2.0
// The token rules of a workload in the search: where a token may be, who issued it, and which keys sign it. Two rules
// share a key if their key sets do; a fetched set is identified by its URL.

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
  /** Where it stands, as `namespace/name[0]`; of rules that do the same, one of them. */
  readonly name: string
  readonly issuer: string | undefined
  /** Every spelling of an audience that is accepted; undefined accepts any and none. */
  readonly audiences: readonly string[] | undefined
  readonly requireExpiration: boolean
  /** Ids of the keys; none where no token can be verified. */
  readonly keys: readonly string[]
  readonly locations: readonly Location[]
  readonly required: boolean
  readonly delimited: ReadonlySet<string>
  /** By lower-case name of a header: where its value comes from, the first that has one; a path of claims as JSON, or `null` for the payload. */
  readonly writes: ReadonlyMap<string, readonly string[]>
  readonly forward: boolean
  /** INVARIANT: rules of equal acceptance accept the same tokens and show authorization the same claims. */
  readonly acceptance: string
  /** INVARIANT: rules of equal id do the same to every request. */
  readonly id: string
}

export function locationId(location: Location): string {
  return JSON.stringify([location.kind, location.name, location.kind === "header" ? location.prefix : ""])
}

/** In the order in which they are asked, each once. */
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

/** One id per key, so that a set that loses one of two keys still shares the other. */
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
