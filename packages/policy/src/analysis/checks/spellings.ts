// SPDX-License-Identifier: Apache-2.0
// Paths that a policy keeps closed under one spelling alone: with a DENY on `/admin`, or an ALLOW on all but it, `/admin/`
// passes, which nearly every application takes for the same page. Said only where nothing else refuses the other one.

import { type Clause, Criterion } from "../../authorization/criterion.js"
import { isTemplate } from "../../authorization/path-template.js"
import type { RuleParts } from "../../authorization/rule.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type AnalysedRule, type PolicySet, type Scope, scopeContains, scopesMeet } from "../policy-set.js"
import { ruleCovers } from "../rule-covers.js"
import { limited, type Steps, type Work } from "../work.js"

export function* otherSpellings(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  const others = new Others(set)
  for (const rule of set.rules) {
    for (const clause of rule.compiled.to) {
      const closed = clause.find(criterion => isPath(criterion) && criterion.negated === (rule.action === "ALLOW"))
      if (rule.action === "AUDIT" || closed === undefined) continue
      // One finding a list: whoever writes one path so writes all so.
      const passed = yield* firstPassed(rule, clause, closed, others, work)
      if (work.exhausted) return [...found, limited(rule.policy, rule.at)]
      if (passed !== undefined) found.push(tell(rule, clause, closed, passed))
    }
  }
  return found
}

interface Passed {
  readonly written: string
  readonly spelling: string
}

function* firstPassed(
  rule: AnalysedRule,
  clause: Clause,
  closed: Criterion,
  others: Others,
  work: Work,
): Steps<Passed | undefined> {
  for (const written of closed.values) {
    if (!work.spend(1)) return undefined
    if (work.due) yield
    const spelling = otherSpelling(written)
    if (spelling === undefined || covered(closed, spelling, work)) continue
    const asked = withPath(rule, clause, closed, spelling)
    const meant = clause.filter(criterion => criterion !== closed && isPath(criterion))
    // The rule's other field on paths speaks of the spelling by itself.
    if (meant.some(criterion => covered(criterion, spelling, work) === criterion.negated)) continue
    if (!(yield* others.refuse(rule, asked, spelling, work)) && !work.exhausted) return { written, spelling }
  }
  return undefined
}

/** gRPC's `/package.Service/Method`, which its servers know by one spelling alone. */
const GRPC = /^\/(?:\w+\.)*[A-Z]\w*\/[A-Z]\w*$/

function otherSpelling(path: string): string | undefined {
  if (path === "/" || path.includes("*") || isTemplate(path) || !path.startsWith("/") || GRPC.test(path))
    return undefined
  return path.endsWith("/") ? path.slice(0, -1) : `${path}/`
}

const isPath = ({ attribute }: Criterion): boolean => attribute.name === "path"

function covered({ attribute, extents }: Criterion, path: string, work: Work): boolean {
  const one = attribute.extent(path)
  return extents.some(wide => work.spend(1) && wide.covers(one))
}

/** What the rule speaks of, asked for under the other spelling. */
function withPath({ compiled }: AnalysedRule, clause: Clause, closed: Criterion, path: string): RuleParts {
  const asked = new Criterion(closed.field, closed.attribute, false, [path])
  return { from: compiled.from, to: [[...clause.filter(one => !isPath(one)), asked]], when: compiled.when }
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
  *refuse(rule: AnalysedRule, asked: RuleParts, path: string, work: Work): Steps<boolean> {
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
      if (mayMatch(allow, path, work) || work.exhausted) return false
    }
    return true
  }

  /** Whether, wherever the rule applies, only what is allowed gets in. */
  #isListed({ shadow, scope }: AnalysedRule): boolean {
    return this.#lists.some(list => (shadow || !list.shadow) && scopeContains(list.scope, scope))
  }
}

function mayMatch({ compiled }: AnalysedRule, path: string, work: Work): boolean {
  if (!work.spend(1)) return true
  if (compiled.to.length === 0) return true
  return compiled.to.some(clause =>
    clause.every(criterion => !isPath(criterion) || covered(criterion, path, work) !== criterion.negated),
  )
}

function tell(rule: AnalysedRule, clause: Clause, closed: Criterion, { written, spelling }: Passed): AnalysisFinding {
  const method = clause.find(({ attribute, negated }) => attribute.name === "method" && !negated)?.values[0] ?? "GET"
  const request = `\`${method.includes("*") ? "GET" : method} ${spelling}\``
  const does = rule.action === "DENY" ? "does not match the rule" : "matches the rule"
  const why = `${request} ${does}, and most applications take it for \`${written}\``
  const wide = written.endsWith("/") ? written.slice(0, -1) : written
  const fix = `write \`${wide}*\`, or \`${wide}\` with \`${wide}/*\`; what must stay closed in every spelling is safest left out of an ALLOW policy`
  return analysisFinding("closed-by-one-spelling", rule.policy, `${rule.at}.${closed.field}`, why, fix)
}
