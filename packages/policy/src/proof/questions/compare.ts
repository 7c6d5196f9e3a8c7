// SPDX-License-Identifier: Apache-2.0
// Compares two sets of policies for one workload: proves that they decide every request alike, or gives requests that
// they decide differently. Every such request has been replayed with both sets.

import { KnownRules, type RuleChoice } from "../../authorization/authorization.js"
import type { CompiledRule } from "../../authorization/rule.js"
import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument } from "../../resources/document.js"
import { Arena, type Round } from "../arena.js"
import { Budget, Exhausted, type Limits } from "../budget.js"
import type { CaseRef, Proofs } from "../certificate/proofs.js"
import { type Frame, framesAt, hasToken, hasTwoTokens } from "../frame.js"
import { OUTCOMES, type Outcome, problemsOf, type Stages } from "../outcome.js"
import { type PolicySide, type Pool, policySide, relevantChoice } from "../policy-side.js"
import type { ReadingContext } from "../read-criterion.js"
import { readRule } from "../read-rule.js"
import { isRuleRegion, type RuleRegion } from "../read-rules.js"
import { Replay } from "../replay.js"
import { type Solved, witnessesOf } from "../running-caller.js"
import { rulesOfOneSide, sameSide, stagesKey } from "../same-side.js"
import { ClassMemo } from "../search/class-memo.js"
import { joined, type Problem, type Region } from "../search/formula.js"
import { solve } from "../search/solve.js"
import { headersNamed } from "../seen-headers.js"
import type { Witness } from "../witness.js"
import type { ProofWorkload } from "../workload.js"
import { describeChange } from "./describe-change.js"
import { narrowRule } from "./narrow-rule.js"

export interface Change {
  readonly from: Outcome
  readonly to: Outcome
  /** The providers that the example depends on, before and after; empty if the outcome is not `custom`. */
  readonly providers: readonly [before: readonly string[], after: readonly string[]]
  /** In words. */
  readonly region: string
  readonly witness: Witness
}

export interface Comparison {
  readonly result: "equal" | "different" | "undecided"
  readonly changes: readonly Change[]
  /** Why nothing is proved about requests that are not listed; undefined if the list is complete. */
  readonly undecided: string | undefined
}

export interface CompareOptions {
  readonly limits?: Limits
  readonly pool?: Pool
  /** Seconds since the epoch, for the times in tokens. */
  readonly now: number
  /** The mesh of the first set, if it is a different one with its own root namespace and annotations. */
  readonly meshBefore?: MeshConfig
  /** Identities of running workloads, which witnesses name if possible: `callersAmong`. */
  readonly callers?: readonly string[]
  /** Collects the proofs for the outcomes in which nothing changes. */
  readonly proofs?: Proofs | undefined
}

export function compareSets(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workload: ProofWorkload,
  mesh: MeshConfig,
  { limits, pool = "enforced", now, meshBefore = mesh, callers = [], proofs }: CompareOptions,
): Comparison {
  const budget = new Budget(limits)
  let arena: Arena | undefined
  try {
    arena = arenaOf(before, after, workload, [meshBefore, mesh], pool, budget)
  } catch (error) {
    if (error instanceof Exhausted) return { result: "undecided", changes: [], undecided: error.message }
    throw error
  }
  const settings = otherSettings(meshBefore, mesh)
  if (arena === undefined) {
    proofs?.sameRules(before, after, workload, mesh)
    return { result: settings === undefined ? "equal" : "undecided", changes: [], undecided: settings }
  }
  proofs?.rounds(arena)
  const differences = new Differences(arena, budget, now, callers, proofs)
  const changes = differences.find()
  const undecided = differences.undecided ?? arena.gap ?? settings
  const result = changes.length > 0 ? "different" : undecided === undefined ? "equal" : "undecided"
  return { result, changes, undecided }
}

/** Requests are modelled with the settings of one mesh; the effects of different settings are not modelled. */
function otherSettings(before: MeshConfig, after: MeshConfig): string | undefined {
  if (before.pathNormalization !== after.pathNormalization) return "the meshes normalize paths differently"
  if (before.numTrustedProxies !== after.numTrustedProxies) return "the meshes trust different numbers of proxies"
  if (before.dialect !== after.dialect) return "the policies are written for different meshes"
  return undefined
}

/** If so, rules with the same text match the same callers. */
function trustAlike(before: MeshConfig, after: MeshConfig): boolean {
  const domainsOf = ({ trustDomain, trustDomainAliases }: MeshConfig) =>
    JSON.stringify([trustDomain, trustDomainAliases])
  return domainsOf(before) === domainsOf(after)
}

/** Undefined if both sides are the same. Each step takes time proportional to the number of rules. */
function arenaOf(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workload: ProofWorkload,
  meshes: readonly [before: MeshConfig, after: MeshConfig],
  pool: Pool,
  budget: Budget,
): Arena | undefined {
  const side = (
    set: readonly PolicyDocument[],
    of: MeshConfig,
    choice?: RuleChoice,
    known?: KnownRules,
  ): PolicySide => {
    budget.checkTime()
    return policySide(set, workload, of, pool, choice, known, budget)
  }
  const sides = (choice?: RuleChoice, known?: KnownRules): [PolicySide, PolicySide] => [
    side(before, meshes[0], choice, known),
    side(after, meshes[1], choice, known),
  ]
  let choice: RuleChoice | undefined
  const [wasBare, isBare] = sides(NO_RULE)
  const read = headersNamed([...before, ...after])
  if (stagesKey(wasBare, read) === stagesKey(isBare, read) && trustAlike(...meshes)) {
    choice = relevantChoice([before, after], workload, meshes, pool, budget)
    if (choice === undefined) return undefined
  }
  // Both sides compile a rule alike if the mesh and, because their stages are equal, the issuers of tokens are the
  // same.
  const isShared = choice !== undefined && meshes[0] === meshes[1]
  const [was, is] = sides(choice, isShared ? new KnownRules() : undefined)
  budget.checkTime()
  if (!isShared) {
    if (sameSide(was, is, read)) return undefined
    budget.checkTime()
    return new Arena([was, is], workload, meshes[1], [], budget)
  }
  const changed = rulesOfOneSide([was, is], budget)
  if (changed.length === 0) return undefined
  // INVARIANT: if no changed rule matches anything in a frame, both sides have the same rules in it and decide alike.
  const concerns = (context: (side: number) => ReadingContext): boolean =>
    changed.some(({ rule, side: of }) => readRule(rule, context(of)) !== undefined)
  return new Arena([was, is], workload, meshes[1], [], budget, concerns)
}

const NO_RULE: RuleChoice = () => false

/** The cause of a change: one changed rule, if there is one. */
interface Found {
  readonly from: Outcome
  readonly to: Outcome
  readonly anchor: RuleRegion | undefined
  readonly problem: Problem
  readonly frames: Frame[]
  readonly witness: Witness
  readonly providers: Change["providers"]
}

class Differences {
  undecided: string | undefined
  readonly #replays: readonly Replay[]
  readonly #found = new Map<string, Found>()
  readonly #memo = new ClassMemo()

  constructor(
    readonly arena: Arena,
    readonly budget: Budget,
    readonly now: number,
    readonly callers: readonly string[],
    readonly proofs: Proofs | undefined,
  ) {
    this.#replays = arena.sides.map(side => new Replay(side))
  }

  find(): readonly Change[] {
    try {
      for (const round of this.arena.rounds) this.#round(round)
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      this.undecided = error.message
    }
    const possible = this.arena.rounds.map(({ frame }) => frame)
    const frames = framesAt(possible, this.arena.workload)
    return [...this.#found.values()].map(found => ({
      from: found.from,
      to: found.to,
      providers: found.providers,
      region: describeChange(found, frames),
      witness: found.witness,
    }))
  }

  #round(round: Round): void {
    const [before, after] = round.stages
    if (before === undefined || after === undefined) return
    // If modes and tokens decide alike on both sides, those outcomes cannot differ.
    const possible = settlesAlike(before, after) ? AUTHORIZED : OUTCOMES
    const hasCustom = before.custom.length + after.custom.length > 0
    const outcomes = hasCustom ? possible : possible.filter(outcome => outcome !== "custom")
    if (hasCustom) this.#otherProviders(round, before, after)
    for (const to of outcomes) {
      for (const from of outcomes) {
        if (from === to) continue
        for (const [at, old] of problemsOf(before, from).entries()) {
          for (const [of, young] of problemsOf(after, to).entries()) {
            this.#pair(round, from, to, joined(round.given, old, young), [at, of])
          }
        }
      }
    }
  }

  /** Finds requests that depend on a provider before or after, but not on the same ones on both sides. */
  #otherProviders(round: Round, before: Stages, after: Stages): void {
    const [old] = problemsOf(before, "custom")
    const [young] = problemsOf(after, "custom")
    if (old === undefined || young === undefined) return
    const both = joined(round.given, old, young)
    for (const provider of providersOf([...before.custom, ...after.custom])) {
      const [was, is] = [before, after].map(({ custom }) => custom.filter(({ ref }) => ref.provider === provider))
      this.#pair(round, "custom", "custom", joined(both, { needs: [was ?? []], bans: is ?? [] }))
      this.#pair(round, "custom", "custom", joined(both, { needs: [is ?? []], bans: was ?? [] }))
    }
  }

  #pair(round: Round, from: Outcome, to: Outcome, problem: Problem, at: readonly number[] = []): void {
    if (problem.needs.some(need => need.length === 0)) return
    const banned = new Set(problem.bans.map(({ key }) => key))
    const needs: Problem["needs"] = problem.needs.map(need => need.filter(({ key }) => !banned.has(key)))
    if (needs.some(need => need.length === 0)) return
    const anchors = changedRules(needs, round.stages)
    if (anchors === undefined) this.#solve(round, from, to, undefined, { needs, bans: problem.bans }, { at })
    const chosen = anchors === undefined ? -1 : needs.indexOf(anchors.need)
    for (const anchor of anchors?.rules ?? []) {
      const narrowed = needs.map((need, index) => (index === chosen ? [anchor] : need))
      const one = { need: chosen, region: anchor }
      this.#solve(round, from, to, anchor, { needs: narrowed, bans: problem.bans }, { at, one })
    }
  }

  #solve(
    round: Round,
    from: Outcome,
    to: Outcome,
    anchor: RuleRegion | undefined,
    problem: Problem,
    { at, one }: { readonly at: readonly number[]; readonly one?: CaseRef },
  ): void {
    const id = JSON.stringify([from, to, anchor?.ref.id ?? round.frame.protocol])
    const known = this.#found.get(id)
    if (hasTwoTokens(round.frame) && this.#isToldOfOneToken(from, to, known, round.frame)) return
    const log = this.proofs?.log(round)
    const solution = solve(problem, this.budget, this.#memo, log)
    if (solution === undefined) {
      if (log !== undefined) this.proofs?.add({ frame: round.frame, from, to, at }, round, this.arena.sides, one, log)
      return
    }
    // For a change that is already known, only the first request is shown.
    const callers = known === undefined ? this.callers : []
    const replayed = this.#replayed({ problem, solution, frame: round.frame }, callers, [from, to])
    if (replayed === undefined) {
      // The result depends on something that the search does not model; another request may or may not exist.
      this.undecided ??= NOT_FOLLOWED
    } else if (known !== undefined) {
      known.frames.push(round.frame)
    } else {
      const narrowed = anchor === undefined ? { anchor, problem } : this.#narrowed(round, anchor, problem)
      this.#found.set(id, { from, to, ...narrowed, frames: [round.frame], ...replayed })
    }
  }

  /** A request with two tokens is reported only if no request with one token shows the same change. */
  #isToldOfOneToken(from: Outcome, to: Outcome, known: Found | undefined, { identity }: Frame): boolean {
    const anyRequest = [...this.#found.values()].find(
      one => one.from === from && one.to === to && one.anchor === undefined,
    )
    return [known, anyRequest].some(one => one?.frames.some(frame => hasToken(frame) && frame.identity === identity))
  }

  /** The first request representing the solution that has these outcomes when it is replayed on both sides. */
  #replayed(
    solved: Pick<Solved, "problem" | "solution" | "frame">,
    callers: readonly string[],
    wanted: readonly [from: Outcome, to: Outcome],
  ): Pick<Found, "witness" | "providers"> | undefined {
    const { space, workload } = this.arena
    const among = { callers, budget: this.budget, memo: this.#memo }
    for (const witness of witnessesOf({ ...solved, space, workload }, among)) {
      const [was, is] = this.#replays.map(replay => replay.run(witness, this.now))
      if (was?.outcome !== wanted[0] || is?.outcome !== wanted[1]) continue
      const providers = [was.providers, is.providers] as const
      if (wanted[0] !== wanted[1] || isOther(...providers)) return { witness, providers }
    }
    return undefined
  }

  /** The same problem with only those values of the changed rule that make the difference. */
  #narrowed(round: Round, anchor: RuleRegion, problem: Problem): Pick<Found, "anchor" | "problem"> {
    const side = round.stages.findIndex(stages =>
      [stages.deny, stages.allow, stages.custom].some(rules => rules.includes(anchor)),
    )
    const regionOf = (rule: CompiledRule) => readRule(rule, round.context(side))
    const withRegion = (region: RuleRegion): Problem => {
      const needs = problem.needs.map(need => (need[0] === anchor ? [region] : need))
      return { needs, bans: problem.bans }
    }
    const rule = narrowRule(anchor.rule, narrower => {
      const region = regionOf(narrower)
      return region !== undefined && solve(withRegion(region), this.budget, this.#memo) !== undefined
    })
    const region = regionOf(rule) ?? anchor
    return { anchor: region, problem: withRegion(region) }
  }
}

const AUTHORIZED: readonly Outcome[] = ["allow", "custom", "deny"]

const providersOf = (rules: readonly RuleRegion[]): ReadonlySet<string> =>
  new Set(rules.flatMap(({ ref }) => ref.provider ?? []))

const isOther = (a: readonly string[], b: readonly string[]): boolean => a.join("\n") !== b.join("\n")

/**
 * INVARIANT: if this is true, a request that one side rejects before it reads rules is rejected in the same way by the
 * other side.
 */
function settlesAlike(before: Stages, after: Stages): boolean {
  const keyOf = ({ transport, missing, good }: Stages): string =>
    JSON.stringify([transport, missing, good ?? null].map(list => list?.map(({ key }) => key)))
  return keyOf(before) === keyOf(after)
}

const NOT_FOLLOWED = "a condition depends on what is not analysed, such as a header that a token writes or a time"

/** The need that only rules of one side can meet, so that each of these rules is reported as a change of its own. */
function changedRules(
  needs: readonly (readonly Region[])[],
  stages: readonly Stages[],
): { readonly need: readonly Region[]; readonly rules: readonly RuleRegion[] } | undefined {
  const common = commonKeys(stages)
  for (const need of needs) {
    const rules = need.filter(isRuleRegion)
    if (rules.length === need.length && !rules.some(({ key }) => common.has(key))) return { need, rules }
  }
  return undefined
}

const commonByStages = new WeakMap<readonly Stages[], ReadonlySet<string>>()

function commonKeys(stages: readonly Stages[]): ReadonlySet<string> {
  let common = commonByStages.get(stages)
  if (common === undefined) {
    const [before, after] = stages
    const keysOf = (list: readonly Region[] | undefined) => new Set((list ?? []).map(({ key }) => key))
    const [deny, allow, custom] = [keysOf(after?.deny), keysOf(after?.allow), keysOf(after?.custom)]
    common = new Set([
      ...[...keysOf(before?.deny)].filter(key => deny.has(key)),
      ...[...keysOf(before?.allow)].filter(key => allow.has(key)),
      ...[...keysOf(before?.custom)].filter(key => custom.has(key)),
    ])
    commonByStages.set(stages, common)
  }
  return common
}
