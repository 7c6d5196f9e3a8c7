// SPDX-License-Identifier: Apache-2.0
// Finds rules that make no difference: an ALLOW rule behind a DENY rule that matches everything it allows, and a rule
// that another rule of the same action covers.

import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type AnalysedRule, type PolicySet, scopeContains } from "../policy-set.js"
import { ruleCovers } from "../rule-covers.js"
import { limited, type Steps, type Work } from "../work.js"

export function* shadowing(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  for (const [position, rule] of set.rules.entries()) {
    for (const [otherPosition, other] of set.rules.entries()) {
      if (!work.spend(1)) return [...found, limited(rule.policy, rule.at)]
      if (work.due) yield
      if (rule === other || !mayShadow(other, rule)) continue
      if (!(yield* ruleCovers(other.compiled, rule.compiled, work))) continue
      if (other.action === "DENY" && rule.action === "ALLOW") found.push(behindDeny(rule, other))
      // Of two equal rules the later one is the one to remove.
      else if (otherPosition < position || !(yield* ruleCovers(rule.compiled, other.compiled, work)))
        found.push(redundant(rule, other))
      else continue
      break
    }
  }
  return found
}

function mayShadow(wide: AnalysedRule, narrow: AnalysedRule): boolean {
  if (wide.shadow && !narrow.shadow) return false
  const decides = doesSame(wide, narrow) || (wide.action === "DENY" && narrow.action === "ALLOW")
  return decides && scopeContains(wide.scope, narrow.scope)
}

/** CUSTOM rules must also ask the same provider. */
function doesSame(a: AnalysedRule, b: AnalysedRule): boolean {
  return a.action === b.action && a.policy.spec.provider?.name === b.policy.spec.provider?.name
}

function behindDeny(rule: AnalysedRule, other: AnalysedRule): AnalysisFinding {
  return analysisFinding(
    "shadowed-by-deny",
    rule.policy,
    rule.at,
    `the DENY rule ${nameOf(other)} denies everything this rule would allow`,
    "narrow the DENY rule, or remove this one",
  )
}

function redundant(rule: AnalysedRule, other: AnalysedRule): AnalysisFinding {
  const why = `${nameOf(other)} already matches everything this rule matches`
  return analysisFinding("redundant-rule", rule.policy, rule.at, why, "remove one of the two")
}

const nameOf = ({ policy: { metadata }, index }: AnalysedRule): string =>
  `\`${metadata.namespace}/${metadata.name}\` rules[${index}]`
