// SPDX-License-Identifier: Apache-2.0
// Checks each entry of each PolicyInvariant for every workload it selects. A broken invariant comes with an example
// request and the rule that allowed or denied it.

import { attributeTable } from "../../authorization/attributes.js"
import { EVERY_RULE, KnownRules } from "../../authorization/authorization.js"
import { type CompiledRule, compileRule, type RuleRef } from "../../authorization/rule.js"
import type { MeshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { PolicyDocument, PolicyInvariant } from "../../resources/document.js"
import type { InvariantRuleSpec } from "../../resources/policy-invariant/definition.js"
import { selects } from "../../selection/workload.js"
import { Arena, type Round } from "../arena.js"
import { Budget, Exhausted, type Limits } from "../budget.js"
import { notModelled, notReplayable } from "../certificate/modelled.js"
import { Proofs } from "../certificate/proofs.js"
import { describeWitness } from "../describe-witness.js"
import { hasToken } from "../frame.js"
import { type Outcome, problemsOf, type Stages } from "../outcome.js"
import { policySide } from "../policy-side.js"
import { readRule } from "../read-rule.js"
import { Replay, type Replayed } from "../replay.js"
import { RuleReplay } from "../rule-replay.js"
import { type Solved, witnessesOf } from "../running-caller.js"
import { ClassMemo } from "../search/class-memo.js"
import { joined, type Problem, type Region } from "../search/formula.js"
import { solve } from "../search/solve.js"
import { DocumentsByNamespace } from "../selected.js"
import type { Witness } from "../witness.js"
import type { ProofWorkload } from "../workload.js"

export interface InvariantRule {
  readonly invariant: { readonly namespace: string; readonly name: string }
  readonly holds: "never" | "always"
  readonly name: string
}

export type InvariantVerdict =
  | { readonly verdict: "holds" }
  | {
      readonly verdict: "broken"
      readonly witness: Witness
      readonly outcome: Outcome
      /** The rule that allowed or denied it; undefined if no single rule did. */
      readonly by: RuleRef | undefined
    }
  | { readonly verdict: "undecided"; readonly reason: string }

export interface CheckedInvariant {
  readonly rule: InvariantRule
  /** The workloads that the verdict applies to; the witness goes to the first. */
  readonly workloads: readonly ProofWorkload[]
  readonly result: InvariantVerdict
}

export interface CheckOptions {
  readonly limits?: Limits
  /** Seconds since the epoch, for the times in tokens. */
  readonly now: number
  /** Identities of running workloads, which witnesses name if possible: `callersAmong`. */
  readonly callers?: readonly string[]
  /** Gets each verdict with its proof. */
  readonly verdicts?: CheckedRecord | undefined
}

export interface CheckedRecord {
  checked(workloads: readonly ProofWorkload[], ref: InvariantRule, verdict: InvariantVerdict, proofs: Proofs): void
}

/** `documents` are all existing policies; `invariants` may be among them. */
export function checkInvariants(
  invariants: readonly PolicyInvariant[],
  documents: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: CheckOptions,
): readonly CheckedInvariant[] {
  const selection = new DocumentsByNamespace(documents, mesh)
  const budget = new Budget(options.limits)
  const checked: CheckedInvariant[] = []
  for (const invariant of invariants) {
    const groups = new Map<string, { documents: readonly PolicyDocument[]; workloads: ProofWorkload[] }>()
    for (const workload of workloads) {
      if (!isAbout(invariant, workload, mesh)) continue
      const { documents: selected, key } = selection.selected(workload)
      const id = JSON.stringify([key, workload.ports ?? []])
      const group = groups.get(id)
      if (group === undefined) groups.set(id, { documents: selected, workloads: [workload] })
      else group.workloads.push(workload)
    }
    for (const { documents: selected, workloads: alike } of groups.values()) {
      const [first] = alike
      if (first === undefined) continue
      const check = inTime(budget, () => new Check(selected, first, mesh, budget, options))
      for (const { holds, spec } of rulesOf(invariant)) {
        const { namespace, name } = invariant.metadata
        const ref = { invariant: { namespace, name }, holds, name: spec.name }
        const { name: _, ...rule } = spec
        const proofs = options.verdicts === undefined || typeof check === "string" ? undefined : check.proofsOf(rule)
        const result: InvariantVerdict =
          typeof check === "string" ? { verdict: "undecided", reason: check } : check.run(ref, spec, proofs)
        checked.push({ rule: ref, workloads: alike, result })
        options.verdicts?.checked(alike, ref, result, proofs ?? new Proofs(undefined))
      }
    }
  }
  return checked
}

/** The result of `make`, or the reason why the budget was exhausted. */
function inTime<T>(budget: Budget, make: () => T): T | string {
  try {
    budget.checkTime()
    return make()
  } catch (error) {
    if (error instanceof Exhausted) return error.message
    throw error
  }
}

/** The scope rules are those of an AuthorizationPolicy. */
export function isAbout({ metadata, spec }: PolicyInvariant, workload: ProofWorkload, mesh: MeshConfig): boolean {
  if (metadata.namespace !== workload.namespace && metadata.namespace !== mesh.names.rootNamespace) return false
  return selects(spec.selector, workload)
}

function rulesOf({ spec }: PolicyInvariant) {
  return [
    ...(spec.never ?? []).map(spec => ({ holds: "never", spec }) as const),
    ...(spec.always ?? []).map(spec => ({ holds: "always", spec }) as const),
  ]
}

class Check {
  readonly #memo = new ClassMemo()
  readonly #replay: Replay
  readonly #side

  constructor(
    readonly documents: readonly PolicyDocument[],
    readonly workload: ProofWorkload,
    readonly mesh: MeshConfig,
    readonly budget: Budget,
    readonly options: CheckOptions,
  ) {
    this.#side = policySide(documents, workload, mesh, "enforced", EVERY_RULE, new KnownRules(), budget)
    this.#replay = new Replay(this.#side)
  }

  proofsOf(asked: Rule): Proofs {
    return new Proofs(notModelled(this.documents, this.mesh, [asked]), notReplayable(this.documents, [asked]))
  }

  run(ref: InvariantRule, spec: InvariantRuleSpec, proofs?: Proofs): InvariantVerdict {
    const table = attributeTable(this.#side.program.authorization.issuers.enforced, this.#side.program.mesh.dialect)
    const { name: _, ...rule } = spec
    const compiled = compileRule(ref.invariant, 0, rule, this.mesh, table)
    try {
      const asked = new RuleReplay(this.documents, this.workload, this.mesh, ref.invariant.namespace, rule)
      return this.#search(compiled, ref.holds, asked, proofs)
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      return { verdict: "undecided", reason: error.message }
    }
  }

  #search(
    compiled: CompiledRule,
    holds: "never" | "always",
    asked: RuleReplay,
    proofs: Proofs | undefined,
  ): InvariantVerdict {
    // The invariant's own conditions must be dimensions of the space before the first round is created.
    const arena = new Arena([this.#side], this.workload, this.mesh, [compiled], this.budget)
    let undecided = arena.gap
    // A certificate shows a request as the caller sends it, and rules may see a changed request.
    if (proofs !== undefined) proofs.gap ??= arena.gap
    let depends: string | undefined
    for (const round of arena.rounds) {
      for (const { wanted, problem, at, region } of offences(compiled, holds, round)) {
        const log = wanted === "custom" ? undefined : proofs?.log(round)
        const solution = solve(problem, this.budget, this.#memo, log)
        if (solution === undefined) {
          if (log !== undefined)
            proofs?.add({ frame: round.frame, to: wanted, at: [at] }, round, arena.sides, undefined, log)
          continue
        }
        const solved = { problem, solution, frame: round.frame, space: arena.space, workload: this.workload }
        const shown = this.#replayed(solved, wanted, witness => asked.matches(witness, region, this.options.now))
        if (shown === undefined) {
          undecided ??= "a condition depends on what is not analysed, such as a header that a token writes or a time"
        } else if (wanted === "custom") depends ??= dependsOn(shown.providers, shown.witness)
        else return { verdict: "broken", witness: shown.witness, outcome: wanted, by: shown.rule }
      }
    }
    const reason = depends ?? undecided
    return reason === undefined ? { verdict: "holds" } : { verdict: "undecided", reason }
  }

  /** The first request representing the solution that has this outcome and that the invariant is about. */
  #replayed(
    solved: Solved,
    wanted: Outcome,
    isMeant: (witness: Witness) => boolean,
  ): (Replayed & { readonly witness: Witness }) | undefined {
    const among = { callers: this.options.callers ?? [], budget: this.budget, memo: this.#memo }
    for (const witness of witnessesOf(solved, among)) {
      const replayed = this.#replay.run(witness, this.options.now)
      if (replayed.outcome === wanted && isMeant(witness)) return { ...replayed, witness }
    }
    return undefined
  }
}

/** A provider may allow a request that must never be allowed, and deny one that must always be allowed. */
function dependsOn(providers: readonly string[], witness: Witness): string {
  const names = providers.map(name => `\`${name}\``).join(" or ")
  return `it depends on ${names}: ${describeWitness(witness)} is allowed unless ${names} denies it`
}

/** The problems whose solutions would break the invariant, among the requests of one frame. */
function offences(
  compiled: CompiledRule,
  holds: "never" | "always",
  round: Round,
): readonly { readonly wanted: Outcome; readonly problem: Problem; readonly at: number; readonly region: Region }[] {
  // An HTTP invariant says nothing about TCP connections.
  const rule = round.frame.protocol === "tcp" ? compiled.tcp("ALLOW") : compiled
  const region = rule && readRule(rule, round.context(0))
  const [stages] = round.stages
  if (region === undefined || stages === undefined) return []
  const outcomes: readonly Outcome[] =
    holds === "never" ? ["allow", "custom"] : ["deny", "unauthenticated", "transport", "custom"]
  const stated: Problem = { needs: [[region], ...goodToken(holds, round, stages)], bans: [] }
  return outcomes.flatMap(wanted =>
    problemsOf(stages, wanted).map((problem, at) => ({
      wanted,
      at,
      region,
      problem: joined(round.given, stated, problem),
    })),
  )
}

/** An invalid token is rejected whatever the policies say, and no invariant can require the opposite. */
function goodToken(holds: "never" | "always", { frame }: Round, { good }: Stages): Problem["needs"] {
  return holds === "always" && hasToken(frame) && good !== undefined ? [good] : []
}
