// SPDX-License-Identifier: Apache-2.0
// Paths that a policy keeps closed under one spelling alone: with a DENY on `/admin`, or an ALLOW on all but it, `/admin/`
// passes, which nearly every application takes for the same page, and with one on `/%C3%A9` the same escapes in small
// letters do, which every application does. Said only where nothing else refuses the other one.

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

interface Spelling {
  readonly path: string
  readonly fix: string
}

interface Passed extends Spelling {
  readonly written: string
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
    for (const spelling of spellingsOf(written)) {
      const { path } = spelling
      // The rule's fields on paths speak of the spelling by themselves.
      const own = clause.some(one => isPath(one) && covered(one, path, work) === (one === closed || one.negated))
      if (own) continue
      const asked = withPath(rule, clause, closed, path)
      if (!(yield* others.refuse(rule, asked, path, work)) && !work.exhausted) return { written, ...spelling }
    }
  }
  return undefined
}

/** gRPC's `/package.Service/Method`, which its servers know by one spelling alone. */
const GRPC = /^\/(?:\w+\.)*[A-Z]\w*\/[A-Z]\w*$/

function spellingsOf(written: string): readonly Spelling[] {
  if (written === "/" || !written.startsWith("/") || isTemplate(written) || GRPC.test(written)) return []
  const text = written.endsWith("*") ? written.slice(0, -1) : written
  const bare = text.endsWith("/") ? text.slice(0, -1) : text
  const slash: Spelling = {
    path: text === bare ? `${text}/` : bare,
    fix: `write \`${bare}*\`, or \`${bare}\` with \`${bare}/*\`; what must stay closed in every spelling is safest left out of an ALLOW policy`,
  }
  const small = text.replace(ESCAPE, triplet => triplet.toLowerCase())
  const capital = text.replace(ESCAPE, triplet => triplet.toUpperCase())
  const other = text === small ? capital : small
  const escapes: Spelling = { path: other, fix: `add \`${other}${written.slice(text.length)}\`` }
  return [...(text === written ? [slash] : []), ...(other === text ? [] : [escapes])]
}

/** RFC 3986 section 6.2.2.1: the case of its digits makes no difference. */
const ESCAPE = /%[0-9A-Fa-f]{2}/g

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

function tell(rule: AnalysedRule, clause: Clause, closed: Criterion, passed: Passed): AnalysisFinding {
  const { written, path, fix } = passed
  const method = clause.find(({ attribute, negated }) => attribute.name === "method" && !negated)?.values[0] ?? "GET"
  const request = `\`${method.includes("*") ? "GET" : method} ${path}\``
  const does = rule.action === "DENY" ? "does not match the rule" : "matches the rule"
  const why = `${request} ${does}, and most applications take it for \`${written}\``
  return analysisFinding("closed-by-one-spelling", rule.policy, `${rule.at}.${closed.field}`, why, fix)
}
