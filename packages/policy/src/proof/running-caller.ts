// SPDX-License-Identifier: Apache-2.0
// The requests that can represent a solution. If several callers are possible, one whose workload is running is
// preferred, so that the reader can send the request: the search is repeated with these callers, and the result is as
// exact as the first.

import { type Budget, Exhausted } from "./budget.js"
import type { Dimension } from "./classes/dimension.js"
import { takes } from "./classes/steps.js"
import type { Frame } from "./frame.js"
import { exactMark } from "./read-criterion.js"
import type { ClassMemo } from "./search/class-memo.js"
import { joined, type Part, type Problem, type Region, region } from "./search/formula.js"
import { type Assignment, solve } from "./search/solve.js"
import type { Space } from "./space.js"
import { type Witness, witnessOf } from "./witness.js"
import { identityOf, type ProofWorkload } from "./workload.js"

export interface Solved {
  readonly problem: Problem
  readonly solution: Assignment
  readonly frame: Frame
  readonly space: Space
  readonly workload: ProofWorkload
}

export interface Callers {
  /** Identities of running workloads, in order; see `callersAmong`. */
  readonly callers: readonly string[]
  readonly budget: Budget
  readonly memo: ClassMemo
}

/** Each is proved to have the same outcome; the first one that replays should be shown. */
export function* witnessesOf(solved: Solved, among: Callers): Iterable<Witness> {
  const { frame, space, workload, solution } = solved
  const known = witnessOf(solution, frame, space, workload)
  if (known.principal !== undefined) {
    const running = solvedByOneOf(solved, known, among)
    if (running !== undefined) yield witnessOf(running, frame, space, workload)
  }
  yield known
}

const MAX_TRIED = 32
/** Far more than a search among so few callers takes; the answer exists already, only its wording depends on this. */
const STEPS = 100_000

/** The workload itself comes last: a workload that calls itself is a poor example. */
function solvedByOneOf(solved: Solved, known: Witness, { callers, budget, memo }: Callers): Assignment | undefined {
  const { problem, space, workload } = solved
  const alike = needing(problem, sameRequest(known, space))
  const own = identityOf(workload, space.trustDomain)
  const aside = budget.aside(STEPS)
  for (const some of [callers.filter(caller => caller !== own), callers.filter(caller => caller === own)]) {
    try {
      const tried = possible(some, problem, space, aside)
      if (tried.length === 0) continue
      const among = region({ dimension: space.peer, negated: false, marks: tried.map(exactMark) })
      const found = solve(needing(alike, [among]), aside, memo) ?? solve(needing(problem, [among]), aside, memo)
      if (found !== undefined) return found
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      return undefined
    }
  }
  return undefined
}

const needing = (problem: Problem, regions: readonly Region[]): Problem =>
  joined(problem, { needs: regions.map(one => [one]), bans: [] })

/** Keeps method and path, which are the easiest to read, if possible. */
function sameRequest({ method, path }: Witness, space: Space): readonly Region[] {
  const same = (dimension: Dimension, text: string | undefined) =>
    text === undefined ? [] : [region({ dimension, negated: false, marks: [exactMark(text)] })]
  return [...same(space.method, method), ...same(space.path, path)]
}

/** The first few callers that needs without a choice do not exclude: only relevant ones of ten thousand are tried. */
function possible(callers: readonly string[], { needs }: Problem, { peer }: Space, budget: Budget): readonly string[] {
  const sole = needs.flatMap(([only, ...others]) => (only === undefined || others.length > 0 ? [] : [only]))
  const groups = sole.flatMap(need => need.groups.map(parts => parts.map(part => conditionsOn(peer, part))))
  const restricting = groups.filter(parts => parts.every(conditions => conditions.length > 0))
  const tried: string[] = []
  for (const caller of callers) {
    budget.spend(4)
    if (!restricting.every(parts => parts.some(conditions => conditions.every(holdsOf => holdsOf(caller))))) continue
    tried.push(caller)
    if (tried.length === MAX_TRIED) break
  }
  return tried
}

function conditionsOn(peer: Dimension, { conditions }: Part): readonly ((caller: string) => boolean)[] {
  return conditions
    .filter(({ dimension }) => dimension === peer)
    .map(({ negated, marks }) => {
      const patterns = marks.flatMap(mark => (mark.kind === "text" ? [mark.steps()] : []))
      return caller => patterns.some(steps => takes(steps, caller)) !== negated
    })
}
