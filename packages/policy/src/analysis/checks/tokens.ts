// SPDX-License-Identifier: Apache-2.0
// Compares rules about tokens with the RequestAuthentications that could verify them. Finds rules that need a JWT where
// none is ever verified, principals of issuers that are not configured, and tokens that are verified but never required.

import type { Criterion } from "../../authorization/criterion.js"
import { readPrincipal } from "../../authorization/request-principal.js"
import type { RequestAuthentication } from "../../resources/document.js"
import { applies } from "../../selection/select.js"
import { isShadow } from "../../selection/shadow.js"
import { nearest } from "../../shape/nearest.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type AnalysedRule, type PolicySet, remembered, type Scope, scopesMeet } from "../policy-set.js"
import { each, limited, type Steps, type Work } from "../work.js"
import { reachCost } from "./selection.js"

const aboutToken = ({ attribute }: Criterion): boolean => attribute.name.startsWith("request.auth.")

function criteria({ compiled }: AnalysedRule): readonly Criterion[] {
  return [...compiled.from.flat(), ...compiled.to.flat(), ...compiled.when]
}

export function tokensMissing(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const verifying = verifiers(set)
  const bare = new Map<Scope, string | undefined>()
  // The workloads that a policy reaches are determined once for all its rules.
  const cost = ({ size, scope, index }: AnalysedRule) =>
    index > 0 ? size : size + reachCost(set, scope) + (set.workloads ?? []).length * verifying.length
  return each(set.rules, work, {
    cost,
    place,
    look: rule => {
      const about = criteria(rule).filter(aboutToken)
      const [first] = about
      if (first === undefined) return []
      const without = remembered(bare, rule.scope, () => withoutTokens(rule, set, verifying))
      if (without === undefined) return []
      const effect =
        rule.action === "ALLOW"
          ? `what \`${first.field}\` asks for is never there`
          : about.some(({ negated }) => negated)
            ? `\`${first.field}\` holds for every request`
            : `\`${first.field}\` never matches`
      const why = `no RequestAuthentication verifies tokens for ${without}, so ${effect}`
      const fix = "add a RequestAuthentication with the issuer of these tokens to the same scope"
      return [analysisFinding("no-token-possible", rule.policy, `${rule.at}.${first.field}`, why, fix)]
    },
  })
}

const place = (rule: AnalysedRule): AnalysisFinding => limited(rule.policy, rule.at)

/** The workloads that the rule reaches and that verify no token; undefined if there are none. */
function withoutTokens(
  { policy, scope }: AnalysedRule,
  set: PolicySet,
  verifying: readonly RequestAuthentication[],
): string | undefined {
  const reached = set.workloads === undefined ? [] : set.reached(scope)
  if (reached.length === 0) {
    return verifying.some(verifier => scopesMeet(set.scopeOf(verifier), scope))
      ? undefined
      : `\`${policy.metadata.namespace}\``
  }
  const bare = reached.filter(workload => !verifying.some(verifier => applies(verifier, workload, set.mesh)))
  const [first, ...others] = bare.map(({ namespace, name }) => `\`${namespace}/${name}\``)
  if (first === undefined) return undefined
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

const verifiers = (set: PolicySet): readonly RequestAuthentication[] =>
  set.requestAuthentications.filter(policy => !isShadow(policy, set.mesh) && (policy.spec.jwtRules ?? []).length > 0)

/** The number of issuers that a misspelt one is compared with, and of misspelt issuers that are compared at all. */
const MAX_COMPARED = 100

export function unknownIssuers(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const verifying = verifiers(set)
  const known = new Map<Scope, ReadonlySet<string> | undefined>()
  const fixes = new Map<string, string>()
  const named = verifying.reduce((sum, { spec }) => sum + (spec.jwtRules ?? []).length, 0)
  const cost = ({ size, index }: AnalysedRule) => (index > 0 ? size : size + named)
  return each(set.rules, work, {
    cost,
    place,
    look: rule => {
      const principals = criteria(rule).filter(({ attribute }) => attribute.name === "request.auth.principal")
      if (principals.length === 0) return []
      const issuers = remembered(known, rule.scope, () => issuersFor(rule.scope, set, verifying))
      if (issuers === undefined) return []
      return principals.flatMap(({ field, values }) =>
        values.flatMap(value => {
          const { issuer } = readPrincipal(value, set.mesh.dialect === "istio" ? new Set() : issuers)
          if (issuer.kind !== "exact" || issuers.has(issuer.text)) return []
          const why = `no RequestAuthentication in scope has the issuer \`${issuer.text}\` of \`${value}\``
          const near = fixes.size < MAX_COMPARED ? [...issuers].slice(0, MAX_COMPARED) : []
          const fix = remembered(fixes, issuer.text, () => issuerFix(issuer.text, near, issuers))
          return [analysisFinding("unknown-issuer", rule.policy, `${rule.at}.${field}`, why, fix)]
        }),
      )
    },
  })
}

/**
 * Undefined if any issuer is possible: a rule without issuer accepts tokens of all. Having no rule is another finding.
 */
function issuersFor(
  scope: Scope,
  set: PolicySet,
  verifying: readonly RequestAuthentication[],
): ReadonlySet<string> | undefined {
  const rules = verifying
    .filter(verifier => scopesMeet(set.scopeOf(verifier), scope))
    .flatMap(({ spec }) => spec.jwtRules ?? [])
  const issuers = rules.flatMap(({ issuer }) => issuer ?? [])
  return rules.length === 0 || issuers.length < rules.length ? undefined : new Set(issuers)
}

function issuerFix(issuer: string, near: readonly string[], issuers: ReadonlySet<string>): string {
  const meant = nearest(issuer, near)
  if (meant !== undefined) return `did you mean \`${meant}\`?`
  const shown = [...issuers].slice(0, 3).map(known => `\`${known}\``)
  return `the issuers are ${shown.join(", ")}${issuers.size > shown.length ? ", …" : ""}`
}

export function tokensNotRequired(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  // Istio ignores the field.
  const hasPresence = set.mesh.dialect !== "istio"
  const requiring = set.rules.filter(rule => criteria(rule).some(aboutToken))
  const cost = ({ spec }: RequestAuthentication) => requiring.length + (spec.jwtRules ?? []).length
  const look = (policy: RequestAuthentication): readonly AnalysisFinding[] => {
    const rules = policy.spec.jwtRules ?? []
    if (hasPresence && rules.some(({ presence }) => presence === "REQUIRED")) return []
    if (requiring.some(({ scope }) => scopesMeet(scope, set.scopeOf(policy)))) return []
    const why = "an invalid token is denied, but nothing requires one: requests without a token are allowed"
    const byField = hasPresence ? ", or set `presence: REQUIRED` on the rule" : ""
    const fix = `add an AuthorizationPolicy with \`requestPrincipals\`${byField}`
    return [analysisFinding("token-not-required", policy, "spec.jwtRules", why, fix)]
  }
  return each(verifiers(set), work, { cost, place: policy => limited(policy, "spec.jwtRules"), look })
}
