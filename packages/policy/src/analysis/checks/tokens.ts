// SPDX-License-Identifier: Apache-2.0
// Rules about tokens and the RequestAuthentications that could produce them: rules that need a JWT where none is ever
// verified, principals of issuers nobody configures, tokens that are verified and then required by nobody.

import type { Criterion } from "../../authorization/criterion.js"
import { parsePrincipal } from "../../authorization/index/principal-index.js"
import type { RequestAuthentication } from "../../resources/document.js"
import { nearest } from "../../resources/nearest.js"
import { applies } from "../../selection/select.js"
import { isShadow } from "../../selection/shadow.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type AnalysedRule, type PolicySet, scopesMeet } from "../policy-set.js"

const aboutToken = ({ attribute }: Criterion): boolean => attribute.name.startsWith("request.auth.")

function criteria({ compiled }: AnalysedRule): readonly Criterion[] {
  return [...compiled.from.flat(), ...compiled.to.flat(), ...compiled.when]
}

export function tokensMissing(set: PolicySet): readonly AnalysisFinding[] {
  return set.rules.flatMap(rule => {
    const about = criteria(rule).filter(aboutToken)
    const [first] = about
    if (first === undefined) return []
    const without = withoutTokens(rule, set)
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
  })
}

/** Whom the rule reaches without any token being verified there; undefined where there is nobody. */
function withoutTokens({ policy, scope }: AnalysedRule, set: PolicySet): string | undefined {
  const verifying = verifiers(set)
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

export function unknownIssuers(set: PolicySet): readonly AnalysisFinding[] {
  return set.rules.flatMap(rule => {
    const rules = verifiers(set)
      .filter(verifier => scopesMeet(set.scopeOf(verifier), rule.scope))
      .flatMap(({ spec }) => spec.jwtRules ?? [])
    const issuers = rules.flatMap(({ issuer }) => issuer ?? [])
    // A rule without issuer takes tokens of any, and no rule at all is another finding.
    if (rules.length === 0 || issuers.length < rules.length) return []
    return criteria(rule)
      .filter(({ attribute }) => attribute.name === "request.auth.principal")
      .flatMap(({ field, values }) => values.map(value => ({ field, value, issuer: parsePrincipal(value).issuer })))
      .flatMap(({ field, value, issuer }) => {
        if (issuer.kind !== "exact" || issuers.includes(issuer.text)) return []
        const meant = nearest(issuer.text, issuers)
        const why = `no RequestAuthentication in scope has the issuer \`${issuer.text}\` of \`${value}\``
        const fix =
          meant === undefined
            ? `the issuers are ${issuers.map(known => `\`${known}\``).join(", ")}`
            : `did you mean \`${meant}\`?`
        return [analysisFinding("unknown-issuer", rule.policy, `${rule.at}.${field}`, why, fix)]
      })
  })
}

export function tokensNotRequired(set: PolicySet): readonly AnalysisFinding[] {
  const requiring = set.rules.filter(rule => criteria(rule).some(aboutToken))
  return verifiers(set).flatMap(policy => {
    const rules = policy.spec.jwtRules ?? []
    if (rules.some(({ presence }) => presence === "REQUIRED")) return []
    if (requiring.some(({ scope }) => scopesMeet(scope, set.scopeOf(policy)))) return []
    const why = "a bad token is refused, but nothing requires one: requests without a token pass"
    const fix = "add an AuthorizationPolicy with `requestPrincipals`, or set `presence: REQUIRED` on the rule"
    return [analysisFinding("token-not-required", policy, "spec.jwtRules", why, fix)]
  })
}
