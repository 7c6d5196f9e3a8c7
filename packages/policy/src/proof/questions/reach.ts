// SPDX-License-Identifier: Apache-2.0
// Who can reach a workload with a certain kind of request, or what a caller can reach: every combination that is allowed,
// by the rule that allows it, with the providers that may still deny it. Anything not listed is proved to be denied,
// whatever a provider answers.

import { attributeTable } from "../../authorization/attributes.js"
import { type CompiledRule, compileRule, type RuleRef } from "../../authorization/rule.js"
import type { MeshConfig } from "../../mesh/config.js"
import { normalizePath, normalizeTarget } from "../../request/path.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../resources/document.js"
import { Arena, type Round } from "../arena.js"
import { Budget, Exhausted, type Limits } from "../budget.js"
import { notModelled, notReplayable } from "../certificate/modelled.js"
import { Proofs } from "../certificate/proofs.js"
import { type Frame, framesAt } from "../frame.js"
import { problemsOf } from "../outcome.js"
import { type PolicySide, policySide } from "../policy-side.js"
import { readRule } from "../read-rule.js"
import type { RuleRegion } from "../read-rules.js"
import { Replay } from "../replay.js"
import { RuleReplay } from "../rule-replay.js"
import { witnessesOf } from "../running-caller.js"
import { ClassMemo } from "../search/class-memo.js"
import { EVERYWHERE, joined, type Problem, type Region } from "../search/formula.js"
import { type Assignment, solve } from "../search/solve.js"
import type { Witness } from "../witness.js"
import { callersOf, requestsOf, ruleWords } from "../words.js"
import type { ProofWorkload } from "../workload.js"
import { exceptionsOf, kindsOf } from "./describe-change.js"
import { narrowRule } from "./narrow-rule.js"

/** One way to reach the workload. */
export interface Way {
  /** The ALLOW rule; undefined if no ALLOW policy applies and everything that is not denied is allowed. */
  readonly rule: RuleRef | undefined
  /** In words. */
  readonly callers: string
  readonly requests: string
  /** In words: the kinds of requests, the rules that exclude some of them, and what a provider may deny. */
  readonly limits: readonly string[]
  /** Providers that may deny some or all of it. */
  readonly providers: readonly string[]
  readonly witness: Witness
}

export interface Reach {
  readonly ways: readonly Way[]
  /** Why there may be other ways; undefined if the list is complete. */
  readonly undecided: string | undefined
}

export interface ReachOptions {
  readonly limits?: Limits
  readonly now: number
  /** Identities of running workloads, which witnesses name if possible: `callersAmong`. */
  readonly callers?: readonly string[]
  /** Gets the answer with its proof. */
  readonly reaches?: ReachRecord | undefined
}

export interface ReachRecord {
  reached(workload: ProofWorkload, asked: Rule, reach: Reach, proofs: Proofs): void
}

/** `asked`: the requests in question, as a rule. `documents` must concern the workload. */
export function reachOf(
  documents: readonly PolicyDocument[],
  workload: ProofWorkload,
  mesh: MeshConfig,
  asked: Rule,
  options: ReachOptions,
): Reach {
  const side = policySide(documents, workload, mesh)
  const table = attributeTable(side.program.authorization.issuers.enforced, side.program.mesh.dialect)
  const rule = inPlainPaths(asked, mesh)
  const question = compileRule({ namespace: workload.namespace, name: "question" }, 0, rule, mesh, table)
  const isAsked = new RuleReplay(documents, workload, mesh, workload.namespace, rule)
  const { reaches } = options
  const proofs = reaches && new Proofs(notModelled(documents, mesh, [rule]), notReplayable(documents, [rule]))
  const search = new Ways(side, workload, mesh, question, isAsked, new Budget(options.limits), options, proofs)
  const reach = search.run()
  if (proofs !== undefined) reaches?.reached(workload, rule, reach, proofs)
  return reach
}

/**
 * People ask with a path as a client would send it. Rules see only the normalised path, so for a literal `//a` the
 * answer would be that no caller can reach it.
 */
function inPlainPaths(asked: Rule, mesh: MeshConfig): Rule {
  if (asked.to === undefined) return asked
  const to = asked.to.map(({ operation, ...rest }) => {
    const { paths } = operation ?? {}
    if (paths === undefined) return { ...rest, ...(operation === undefined ? {} : { operation }) }
    return { ...rest, operation: { ...operation, paths: paths.map(path => plainPath(path, mesh)) } }
  })
  return { ...asked, to }
}

function plainPath(value: string, { pathNormalization: mode, dialect }: MeshConfig): string {
  // Templates and suffixes match many paths and name segments as rules see them.
  if (!value.startsWith("/") || value.includes("{")) return value
  if (!value.endsWith("*")) return normalizeTarget(value, mode, dialect)?.path ?? value
  // The last segment of a prefix may continue: `/.*` is not `/*`.
  const end = value.lastIndexOf("/") + 1
  return `${normalizePath(value.slice(0, end), mode, dialect) ?? value.slice(0, end)}${value.slice(end)}`
}

interface Found {
  readonly allowed: RuleRegion | undefined
  readonly problem: Problem
  readonly frames: Frame[]
  readonly witness: Witness
  /** The CUSTOM rules that match some of it, by their ids. */
  readonly customRules: Map<string, RuleRef>
}

class Ways {
  readonly #arena: Arena
  readonly #replay: Replay
  readonly #memo = new ClassMemo()
  readonly #found = new Map<string, Found>()
  #undecided: string | undefined

  constructor(
    side: PolicySide,
    workload: ProofWorkload,
    mesh: MeshConfig,
    readonly question: CompiledRule,
    readonly isAsked: RuleReplay,
    readonly budget: Budget,
    readonly options: ReachOptions,
    readonly proofs: Proofs | undefined,
  ) {
    this.#arena = new Arena([side], workload, mesh, [question])
    proofs?.rounds(this.#arena)
    this.#replay = new Replay(side)
    this.#undecided = this.#arena.gap
  }

  run(): Reach {
    try {
      for (const round of this.#arena.rounds) this.#round(round)
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      this.#undecided = error.message
    }
    return { ways: this.#ways(), undecided: this.#undecided }
  }

  #round(round: Round): void {
    const tcp = round.frame.protocol === "tcp"
    const rule = tcp ? this.question.tcp("ALLOW") : this.question
    const asked = rule && readRule(rule, round.context(0))
    const [stages] = round.stages
    if (asked === undefined || stages === undefined) return
    const allowed: readonly (RuleRegion | undefined)[] = stages.closed ? stages.allow : [undefined]
    const about = joined(round.given, { needs: [[asked]], bans: [] })
    // Independent of the provider's answer: it may allow everything that it may deny.
    const [through] = problemsOf({ ...stages, closed: false, custom: [] }, "allow")
    if (through === undefined) return
    const reached = joined(about, through)
    for (const one of allowed) {
      const problemOf = (region: Region): Problem => joined(reached, { needs: [[region]], bans: [] })
      const problem = one === undefined ? reached : problemOf(one)
      const log = this.proofs?.log(round)
      const solution = solve(problem, this.budget, this.#memo, log)
      if (solution === undefined) {
        const as = one && { need: reached.needs.length, region: one }
        if (log !== undefined)
          this.proofs?.add({ frame: round.frame, to: "allow", at: [0] }, round, this.#arena.sides, as, log)
        continue
      }
      const customRules = stages.custom.filter(region => this.#meets(problem, region))
      const witness =
        this.#unasked(problem, asked, customRules, round.frame) ?? this.#replayed(problem, asked, solution, round.frame)
      if (witness === undefined) {
        this.#undecided ??=
          "a condition depends on what is not analysed, such as a header that a token writes or a time"
        continue
      }
      const id = one?.ref.id ?? ""
      const known = this.#found.get(id)
      const refs = customRules.map(({ ref }) => [ref.id, ref] as const)
      if (known === undefined) {
        const narrowed = this.#narrowed(round, one, problemOf)
        this.#found.set(id, { ...narrowed, frames: [round.frame], witness, customRules: new Map(refs) })
      } else {
        known.frames.push(round.frame)
        for (const [id, ref] of refs) known.customRules.set(id, ref)
      }
    }
  }

  #meets(problem: Problem, region: RuleRegion): boolean {
    return solve(joined(problem, { needs: [[region]], bans: [] }), this.budget, this.#memo) !== undefined
  }

  /** A request that is allowed whatever a provider answers, if there is one. */
  #unasked(problem: Problem, asked: Region, customRules: readonly RuleRegion[], frame: Frame): Witness | undefined {
    if (customRules.length === 0) return undefined
    const sure = joined(problem, { needs: [], bans: customRules })
    const solution = solve(sure, this.budget, this.#memo)
    return solution && this.#replayed(sure, asked, solution, frame)
  }

  /** The first request representing the solution that is allowed and is one of the requests in question. */
  #replayed(problem: Problem, asked: Region, solution: Assignment, frame: Frame): Witness | undefined {
    const { space, workload } = this.#arena
    const among = { callers: this.options.callers ?? [], budget: this.budget, memo: this.#memo }
    for (const witness of witnessesOf({ problem, solution, frame, space, workload }, among)) {
      const { now } = this.options
      const { outcome } = this.#replay.run(witness, now)
      if ((outcome === "allow" || outcome === "custom") && this.isAsked.matches(witness, asked, now)) return witness
    }
    return undefined
  }

  #narrowed(
    round: Round,
    allowed: RuleRegion | undefined,
    problemOf: (region: Region) => Problem,
  ): Pick<Found, "allowed" | "problem"> {
    if (allowed === undefined) return { allowed, problem: problemOf(EVERYWHERE) }
    const regionOf = (rule: CompiledRule) => readRule(rule, round.context(0))
    const rule = narrowRule(allowed.rule, narrower => {
      const region = regionOf(narrower)
      return region !== undefined && solve(problemOf(region), this.budget, this.#memo) !== undefined
    })
    const region = regionOf(rule) ?? allowed
    return { allowed: region, problem: problemOf(region) }
  }

  #ways(): readonly Way[] {
    const possible = this.#arena.rounds.map(({ frame }) => frame)
    const frames = framesAt(possible, this.#arena.workload)
    return [...this.#found.values()].map(({ allowed, problem, frames: own, witness, customRules }) => {
      const tcp = own.every(({ protocol }) => protocol === "tcp")
      const rule = allowed?.rule
      return {
        rule: allowed?.ref,
        callers: rule === undefined ? "any caller" : callersOf(rule),
        requests:
          rule === undefined ? (tcp ? "TCP connections" : "any request") : requestsOf(rule, tcp ? "tcp" : "http"),
        limits: [...kindsOf(own, frames, rule), ...exceptionsOf(problem), ...unlessDenied([...customRules.values()])],
        providers: [...new Set([...customRules.values()].flatMap(({ provider }) => provider ?? []))].sort(),
        witness,
      }
    })
  }
}

function unlessDenied(customRules: readonly RuleRef[]): readonly string[] {
  return customRules.map(ref => `unless \`${ref.provider ?? ""}\` denies what ${ruleWords(ref)} matches`)
}
