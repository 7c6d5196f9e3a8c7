// SPDX-License-Identifier: Apache-2.0
// The compiled rules of all RequestAuthentications of a workload: one list, ordered by issuer bytes, then age of the
// policy, then position; no rule overrides another. Keys are resolved here, so that evaluation needs no lookup; a changed
// key set means compiling again. A policy in shadow mode is judged together with the enforced ones in a separate program,
// which shows the result of enforcing it.

import { createHash } from "node:crypto"
import type { Dialect } from "../mesh/config.js"
import type { RequestAuthentication } from "../resources/document.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { byAge } from "../selection/workload.js"
import { allowedAudiences } from "./audience.js"
import { type Finder, finderOf } from "./finder.js"
import { type KeySet, parseKeySet } from "./key-set.js"
import { type Location, locationsOf } from "./locations.js"
import type { TokenRule, TokenRuleRef } from "./rule.js"
import { outputHeaders, viewProfile } from "./view.js"

export interface TokenRules {
  readonly rules: readonly TokenRule[]
  readonly finder: Finder
  /** How tokens are found and verified. */
  readonly dialect: Dialect | undefined
  /** Every header that some rule writes, in lower case. */
  readonly outputs: readonly string[]
  /** Every header in which some rule looks for a token, in lower case. */
  readonly headers: readonly string[]
}

export interface TokenProgram extends TokenRules {
  /** All rules, including shadow ones; undefined if there are no shadow rules. */
  readonly shadow: TokenRules | undefined
}

/** The keys last fetched for a rule; undefined if there never were any. */
export type KeySetLookup = (rule: JwtRule) => KeySet | undefined

/**
 * Identifies the key set of a rule without inline keys by issuer, URI and authorities. A rule that trusts other
 * authorities may get other keys, which must not become the keys of another policy.
 */
export function keySetId({ issuer, jwksUri, caBundle }: Pick<JwtRule, "issuer" | "jwksUri" | "caBundle">): string {
  const authorities = caBundle === undefined ? [] : [createHash("sha256").update(caBundle).digest("base64url")]
  return JSON.stringify([issuer ?? "", jwksUri ?? "", ...authorities])
}

/** Every issuer that a rule names. */
export function issuersOf({ rules }: TokenRules): ReadonlySet<string> {
  return new Set(rules.flatMap(({ issuer }) => issuer ?? []))
}

export function compileTokenRules(
  policies: readonly RequestAuthentication[],
  keySets: KeySetLookup,
  dialect?: Dialect,
): TokenProgram {
  const enforced = policies.filter(({ spec }) => spec.enforcement !== "Shadow")
  const shadow = enforced.length < policies.length ? compile(policies, keySets, dialect) : undefined
  return { ...compile(enforced, keySets, dialect), shadow }
}

interface Source {
  readonly ref: TokenRuleRef
  readonly rule: JwtRule
  readonly issuer: Buffer
  readonly locations: readonly Location[]
}

function compile(
  policies: readonly RequestAuthentication[],
  keySets: KeySetLookup,
  dialect: Dialect | undefined,
): TokenRules {
  // The sort is stable, so age and position order the rules of one issuer.
  const sources = [...policies].sort(byAge).flatMap(sourcesOf)
  sources.sort((a, b) => Buffer.compare(a.issuer, b.issuer))
  const looksAt = placesLookedAt(
    sources.map(({ rule }) => rule),
    dialect,
  )
  const finder = finderOf(
    sources.flatMap(({ locations }) => locations),
    dialect,
  )
  const rules = sources.map(({ ref, rule, locations }, order): TokenRule => {
    return {
      ref,
      order,
      issuer: rule.issuer,
      audiences: allowedAudiences(rule.audiences ?? []),
      requireExpiration: rule.requireExpiration ?? false,
      keys: rule.jwks === undefined ? (keySets(rule) ?? "JwksFetchFail") : inlineKeys(rule.jwks),
      keySetId: rule.jwks === undefined ? keySetId(rule) : undefined,
      slots: locations.filter(looksAt).map(location => finder.slotOf(location)),
      forward: rule.forwardOriginalToken ?? false,
      required: rule.presence === "REQUIRED",
      profile: viewProfile(rule),
    }
  })
  const headers = sources.flatMap(({ locations }) => locations.filter(({ kind }) => kind === "header"))
  return {
    rules,
    finder,
    dialect,
    outputs: [...new Set(rules.flatMap(({ profile }) => outputHeaders(profile)))],
    headers: [...new Set(headers.map(({ name }) => name))],
  }
}

/** Istio's proxy removes the headers that rules write before it looks for tokens. */
export function placesLookedAt(
  rules: readonly JwtRule[],
  dialect: Dialect | undefined,
): (location: Location) => boolean {
  if (dialect !== "istio") return () => true
  const written = new Set(rules.flatMap(rule => outputHeaders(viewProfile(rule))))
  return ({ kind, name }) => kind !== "header" || !written.has(name)
}

function sourcesOf({ metadata, spec }: RequestAuthentication): Source[] {
  const policy = Object.freeze({ namespace: metadata.namespace, name: metadata.name })
  return (spec.jwtRules ?? []).map((rule, index) => ({
    ref: Object.freeze({ policy, rule: index }),
    rule,
    issuer: Buffer.from(rule.issuer ?? ""),
    locations: locationsOf(rule),
  }))
}

function inlineKeys(jwks: string): KeySet | "JwksNoValidKeys" {
  const result = parseKeySet(jwks)
  return result.ok ? result.keySet : "JwksNoValidKeys"
}
