// SPDX-License-Identifier: Apache-2.0
// Finds invariants that forbid one spelling only: `never` on `/admin` is proved to hold while `/admin/` is open to every
// caller.

import { compileRule } from "../../authorization/rule.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { anyWorkload, type PolicySet } from "../policy-set.js"
import { ruleCovers } from "../rule-covers.js"
import { limited, type Steps, type Work } from "../work.js"
import { closedIn, firstPassed, othersWords, requestWords } from "./first-passed.js"

export function* statedSpellings(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  const attributes = anyWorkload(set.mesh)
  for (const invariant of set.invariants) {
    for (const [index, { name: _, ...rule }] of (invariant.spec.never ?? []).entries()) {
      const compiled = compileRule(invariant.metadata, index, rule, set.mesh, attributes)
      // Compiling is expensive and is not counted as a comparison.
      yield
      for (const place of closedIn(compiled, false)) {
        const at = `spec.never[${index}].${place.closed.field}`
        const passed = yield* firstPassed(place, set.mesh, asked => ruleCovers(compiled, asked, work), work)
        if (work.exhausted) return [...found, limited(invariant, at)]
        if (passed === undefined) continue
        const { text, written, readers, fix } = passed
        const why = `${requestWords(place, text)} is outside the rule, and ${readers} take it for \`${written}\`${othersWords(passed)}`
        found.push(analysisFinding("closed-by-one-spelling", invariant, at, why, fix))
      }
    }
  }
  return found
}
