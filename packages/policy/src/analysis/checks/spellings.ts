// SPDX-License-Identifier: Apache-2.0
// Paths and hosts that a policy keeps closed under one spelling alone: with a DENY on `/admin`, or an ALLOW on all but it,
// `/admin/` passes, which nearly every application takes for the same page; with one on `a.example`, `a.example:80`. Said
// only where nothing else refuses the other one.

import { type Clause, Criterion } from "../../authorization/criterion.js"
import type { RuleParts } from "../../authorization/rule.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type AnalysedRule, type PolicySet, type Scope, scopeContains, scopesMeet } from "../policy-set.js"
import { ruleCovers } from "../rule-covers.js"
import { limited, type Steps, type Work } from "../work.js"
import { OTHER_SPELLINGS, type Spelling } from "./other-spellings.js"

export function* closedSpellings(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  const others = new Others(set)
  for (const rule of set.rules) {
    for (const clause of rule.compiled.to) {
      for (const closed of clause.filter(criterion => closes(rule, criterion))) {
        // One finding a list: whoever writes one value so writes all so.
        const passed = yield* firstPassed({ rule, clause, closed }, others, work)
        if (work.exhausted) return [...found, limited(rule.policy, rule.at)]
        if (passed !== undefined) found.push(tell({ rule, clause, closed }, passed))
      }
    }
  }
  return found
}

/** Whether the field says what is not to pass. */
export function closes({ action }: AnalysedRule, { attribute, negated }: Criterion): boolean {
  return OTHER_SPELLINGS.has(attribute.name) && action !== "AUDIT" && negated === (action === "ALLOW")
}

interface Closed {
  readonly rule: AnalysedRule
  readonly clause: Clause
  readonly closed: Criterion
}

interface Passed extends Spelling {
  readonly written: string
}

function* firstPassed(place: Closed, others: Others, work: Work): Steps<Passed | undefined> {
  const { clause, closed } = place
  const spellings = OTHER_SPELLINGS.get(closed.attribute.name)
  for (const written of closed.values) {
    if (!work.spend(1)) return undefined
    if (work.due) yield
    for (const spelling of spellings?.(written) ?? []) {
      const speaks = (one: Criterion): boolean => covered(one, spelling.text, work) === (one === closed || one.negated)
      // The rule's fields on the attribute speak of the spelling by themselves.
      if (clause.some(one => isSame(one, closed) && speaks(one))) continue
      if (!(yield* others.refuse(place, spelling.text, work)) && !work.exhausted) return { written, ...spelling }
    }
  }
  return undefined
}

const isSame = (one: Criterion, other: Criterion): boolean => one.attribute.name === other.attribute.name

function covered({ attribute, extents }: Criterion, text: string, work: Work): boolean {
  const one = attribute.extent(text)
  return extents.some(wide => work.spend(1) && wide.covers(one))
}

/** What the rule speaks of, asked for under the other spelling. */
function spelledSo({ rule: { compiled }, clause, closed }: Closed, text: string): RuleParts {
  const asked = new Criterion(closed.field, closed.attribute, false, [text])
  return { from: compiled.from, to: [[...clause.filter(one => !isSame(one, closed)), asked]], when: compiled.when }
}

/** What else there is in the set to refuse a request. */
class Others {
  readonly #denies: readonly AnalysedRule[]
  readonly #allows: readonly AnalysedRule[]
  readonly #lists: readonly { readonly scope: Scope; readonly shadow: boolean }[]

  constructor(set: PolicySet) {
    this.#denies = set.rules.filter(({ action }) => action === "DENY")
    this.#allows = set.rules.filter(({ action }) => action === "ALLOW")
    this.#lists = set.allowLists
  }

  /** Whether it is plain that they do. */
  *refuse(place: Closed, text: string, work: Work): Steps<boolean> {
    const { rule, closed } = place
    const asked = spelledSo(place, text)
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

  /** Whether, wherever the rule applies, only what is allowed gets in. */
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

function tell({ rule, clause, closed }: Closed, { written, text, fix }: Passed): AnalysisFinding {
  const given = clause.find(({ attribute, negated }) => attribute.name === "method" && !negated)?.values[0] ?? "GET"
  const method = given.includes("*") ? "GET" : given
  const request = closed.attribute.name === "path" ? `\`${method} ${text}\`` : `a ${method} with \`Host: ${text}\``
  const does = rule.action === "DENY" ? "does not match the rule" : "matches the rule"
  const why = `${request} ${does}, and most applications take it for \`${written}\``
  return analysisFinding("closed-by-one-spelling", rule.policy, `${rule.at}.${closed.field}`, why, fix)
}
