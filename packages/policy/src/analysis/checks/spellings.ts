// SPDX-License-Identifier: Apache-2.0
// Finds paths and hosts that a policy protects under one spelling only. With a DENY on `/admin`, or an ALLOW on
// everything else, `/admin/` passes, although nearly every application serves the same page. With one on `a.example`,
// `a.example:80` passes. Reported only if nothing else denies the other spelling.

import type { Criterion } from "../../authorization/criterion.js"
import type { RuleParts } from "../../authorization/rule.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type AnalysedRule, type PolicySet, type Scope, scopeContains, scopesMeet } from "../policy-set.js"
import { ruleCovers } from "../rule-covers.js"
import { limited, type Steps, type Work } from "../work.js"
import { closedIn, covered, firstPassed, isSame, othersWords, requestWords } from "./first-passed.js"

export function* closedSpellings(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  const others = new Others(set)
  for (const rule of set.rules) {
    if (rule.action === "AUDIT") continue
    const does = rule.action === "ALLOW" ? "matches the rule" : "does not match the rule"
    for (const place of closedIn(rule.compiled, rule.action === "ALLOW")) {
      // One finding per list: an author who writes one value in this way writes all of them in this way.
      const { closed } = place
      const passed = yield* firstPassed(
        place,
        set.mesh,
        (asked, text) => others.deny(rule, closed, asked, text, work),
        work,
      )
      if (work.exhausted) return [...found, limited(rule.policy, rule.at)]
      if (passed === undefined) continue
      const { text, written, readers, fix } = passed
      const why = `${requestWords(place, text)} ${does}, and ${readers} take it for \`${written}\`${othersWords(passed)}`
      found.push(analysisFinding("closed-by-one-spelling", rule.policy, `${rule.at}.${closed.field}`, why, fix))
    }
  }
  return found
}

/** The other rules of the set that may deny a request. */
class Others {
  readonly #denies: readonly AnalysedRule[]
  readonly #allows: readonly AnalysedRule[]
  readonly #lists: readonly { readonly scope: Scope; readonly shadow: boolean }[]

  constructor(set: PolicySet) {
    this.#denies = set.rules.filter(({ action }) => action === "DENY")
    this.#allows = set.rules.filter(({ action }) => action === "ALLOW")
    this.#lists = set.allowLists
  }

  /** Whether they certainly deny the request. */
  *deny(rule: AnalysedRule, closed: Criterion, asked: RuleParts, text: string, work: Work): Steps<boolean> {
    for (const deny of this.#denies) {
      if (!work.spend(1)) return false
      if (work.due) yield
      if ((deny.shadow && !rule.shadow) || !scopeContains(deny.scope, rule.scope)) continue
      if (yield* ruleCovers(deny.compiled, asked, work)) return true
    }
    if (rule.action === "ALLOW" || !this.#isListed(rule)) return false
    for (const allow of this.#allows) {
      if (work.due) yield
      if (!scopesMeet(allow.scope, rule.scope)) continue
      if (mayMatch(allow, closed, text, work) || work.exhausted) return false
    }
    return true
  }

  /** Whether only allowed requests pass wherever the rule applies. */
  #isListed({ shadow, scope }: AnalysedRule): boolean {
    return this.#lists.some(list => (shadow || !list.shadow) && scopeContains(list.scope, scope))
  }
}

function mayMatch({ compiled }: AnalysedRule, closed: Criterion, text: string, work: Work): boolean {
  if (!work.spend(1)) return true
  if (compiled.to.length === 0) return true
  return compiled.to.some(clause =>
    clause.every(one => !isSame(one, closed) || covered(one, text, work) !== one.negated),
  )
}
