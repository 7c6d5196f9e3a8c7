// SPDX-License-Identifier: Apache-2.0
// Proves which rules could be removed without changing any decision, each with the reason: it contradicts itself, the
// mTLS mode or the tokens deny everything it matches, or other rules decide all of it.

import { EVERY_RULE, KnownRules } from "../../authorization/authorization.js"
import type { RuleRef } from "../../authorization/rule.js"
import type { MeshConfig } from "../../mesh/config.js"
import type { AuthorizationPolicy, PolicyDocument } from "../../resources/document.js"
import { isShadow } from "../../selection/shadow.js"
import { Arena, type Round } from "../arena.js"
import { Budget, Exhausted, type Limits } from "../budget.js"
import { notModelled } from "../certificate/modelled.js"
import { Proofs } from "../certificate/proofs.js"
import type { Stages } from "../outcome.js"
import { policySide } from "../policy-side.js"
import type { RuleRegion } from "../read-rules.js"
import { ClassMemo } from "../search/class-memo.js"
import { joined, type Problem } from "../search/formula.js"
import { solve } from "../search/solve.js"
import { DocumentsByNamespace } from "../selected.js"
import type { ProofWorkload } from "../workload.js"
import { type Comparison, compareSets } from "./compare.js"

export type DeadBecause = "contradiction" | "mode-or-token" | "other-rules"

export interface DeadRule {
  readonly rule: RuleRef
  readonly because: DeadBecause
  /** The rules that decide everything it matches. */
  readonly by: readonly RuleRef[]
}

export interface DeadRules {
  readonly dead: readonly DeadRule[]
  /** Rules for which this is unknown, and why. */
  readonly undecided: readonly { readonly rule: RuleRef; readonly reason: string }[]
}

export interface DeadRuleOptions {
  readonly limits?: Limits
  /** Gets the proof that all dead rules can be removed together, for each workload that one of them concerns. */
  readonly unused?: UnusedRecord | undefined
}

export interface UnusedRecord {
  unused(workload: ProofWorkload, rules: readonly RuleRef[], comparison: Comparison, proofs: Proofs): void
}

/** A rule is dead if it is dead on every workload it concerns. */
export function deadRules(
  documents: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  { limits, unused }: DeadRuleOptions = {},
): DeadRules {
  const selection = new DocumentsByNamespace(documents, mesh)
  const groups = new Map<string, { readonly documents: readonly PolicyDocument[]; readonly workload: ProofWorkload }>()
  for (const workload of workloads) {
    const { documents: selected, key } = selection.selected(workload)
    const id = JSON.stringify([key, workload.ports ?? []])
    if (!groups.has(id)) groups.set(id, { documents: selected, workload })
  }
  const verdicts = new Map<string, Verdict[]>()
  const budget = new Budget(limits)
  for (const { documents: selected, workload } of groups.values()) {
    const side = policySide(selected, workload, mesh, "enforced", EVERY_RULE, new KnownRules())
    const living = new Living(new Arena([side], workload, mesh), budget)
    for (const list of ["allow", "deny"] as const) {
      // Starts from the last rule, so that the later of two equal rules is the dead one.
      for (const { ref } of side.http[list].toReversed()) {
        verdicts.set(ref.id, [...(verdicts.get(ref.id) ?? []), living.judge(ref, list)])
      }
    }
  }
  const found = summed([...verdicts.values()])
  if (unused !== undefined) for (const group of groups.values()) recordUnused(group, found, mesh, limits, unused)
  return found
}

/** A second proof, for all rules at once: each rule alone was proved against the rules that remain. */
function recordUnused(
  { documents, workload }: { readonly documents: readonly PolicyDocument[]; readonly workload: ProofWorkload },
  { dead }: DeadRules,
  mesh: MeshConfig,
  limits: Limits | undefined,
  record: UnusedRecord,
): void {
  const enforced = documents.filter(one => one.kind === "AuthorizationPolicy" && !isShadow(one, mesh))
  const own = dead.filter(({ rule: { policy } }) =>
    enforced.some(({ metadata: { namespace, name } }) => namespace === policy.namespace && name === policy.name),
  )
  if (own.length === 0) return
  const rules = own.map(({ rule }) => rule)
  const left = documents.map(document =>
    document.kind === "AuthorizationPolicy" ? without(document, rules) : document,
  )
  const proofs = new Proofs(notModelled(documents, mesh))
  // No request is shown, so the time does not matter for tokens.
  const options = { now: 0, proofs, ...(limits && { limits }) }
  record.unused(workload, rules, compareSets(documents, left, workload, mesh, options), proofs)
}

function without(document: AuthorizationPolicy, rules: readonly RuleRef[]): AuthorizationPolicy {
  const { metadata, spec } = document
  const gone = rules.filter(({ policy }) => policy.namespace === metadata.namespace && policy.name === metadata.name)
  if (gone.length === 0) return document
  const kept = (spec.rules ?? []).filter((_, at) => !gone.some(({ rule }) => rule === at))
  return { ...document, spec: { ...spec, rules: kept } }
}

type Verdict =
  | { readonly rule: RuleRef; readonly state: "alive" }
  | { readonly rule: RuleRef; readonly state: "undecided"; readonly reason: string }
  | ({ readonly state: "dead" } & DeadRule)

function summed(all: readonly (readonly Verdict[])[]): DeadRules {
  const dead: DeadRule[] = []
  const undecided: { rule: RuleRef; reason: string }[] = []
  for (const verdicts of all) {
    if (verdicts.some(({ state }) => state === "alive")) continue
    const open = verdicts.find(verdict => verdict.state === "undecided")
    const [first, ...others] = verdicts.filter(verdict => verdict.state === "dead")
    if (open !== undefined) undecided.push({ rule: open.rule, reason: open.reason })
    else if (first !== undefined) {
      const by = new Map([first, ...others].flatMap(one => one.by.map(ref => [ref.id, ref] as const)))
      const because = others.every(other => other.because === first.because) ? first.because : "other-rules"
      dead.push({ rule: first.rule, because, by: [...by.values()] })
    }
  }
  return { dead: dead.toReversed(), undecided }
}

const MAX_BLAMED = 24

class Living {
  readonly #memo = new ClassMemo()
  /** INVARIANT: no dead rule is the reason why another one is dead, so all of them can be removed together. */
  readonly #gone = new Set<string>()

  constructor(
    readonly arena: Arena,
    readonly budget: Budget,
  ) {}

  judge(rule: RuleRef, list: "allow" | "deny"): Verdict {
    const verdict = this.#judged(rule, list)
    if (verdict.state === "dead") this.#gone.add(rule.id)
    return verdict
  }

  #judged(rule: RuleRef, list: "allow" | "deny"): Verdict {
    try {
      if (this.#solvable(rule, list, "all")) return { rule, state: "alive" }
      if (this.arena.gap !== undefined) return { rule, state: "undecided", reason: this.arena.gap }
      if (!this.#solvable(rule, list, "none")) return { rule, state: "dead", because: "contradiction", by: [] }
      if (!this.#solvable(rule, list, "stages")) return { rule, state: "dead", because: "mode-or-token", by: [] }
      return { rule, state: "dead", because: "other-rules", by: this.#blamed(rule, list) }
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      return { rule, state: "undecided", reason: error.message }
    }
  }

  /** Whether some request makes the rule matter; `against`: the stages or rules that may prevent that. */
  #solvable(rule: RuleRef, list: "allow" | "deny", against: "none" | "stages" | "all" | ReadonlySet<string>): boolean {
    return this.arena.rounds.some(round => {
      const [stages] = round.stages
      const own = stages?.[list].find(({ ref }) => ref.id === rule.id)
      if (stages === undefined || own === undefined) return false
      return (
        solve(problemOf(own, list, this.#left(stages), round, against, this.#gone), this.budget, this.#memo) !==
        undefined
      )
    })
  }

  #left(stages: Stages): Stages {
    const stays = ({ ref }: RuleRegion): boolean => !this.#gone.has(ref.id)
    // Every ALLOW rule counts, dead or not: a DENY rule that is needed because of a dead ALLOW rule is not dead.
    return { ...stages, deny: stages.deny.filter(stays), allow: stages.allow }
  }

  /** A minimal set of other rules that suffices, found by leaving them out one by one. */
  #blamed(rule: RuleRef, list: "allow" | "deny"): readonly RuleRef[] {
    const refs = new Map<string, RuleRef>()
    for (const { stages } of this.arena.rounds) {
      for (const { ref } of [...(stages[0]?.deny ?? []), ...(stages[0]?.allow ?? [])]) refs.set(ref.id, ref)
    }
    refs.delete(rule.id)
    for (const id of this.#gone) refs.delete(id)
    // Tries each rule alone first: usually one rule is enough.
    for (const ref of [...refs.values()].slice(0, 500)) {
      if (!this.#solvable(rule, list, new Set([ref.id]))) return [ref]
    }
    const kept = new Set(refs.keys())
    if (kept.size > MAX_BLAMED) return []
    for (const id of refs.keys()) {
      kept.delete(id)
      if (this.#solvable(rule, list, kept)) kept.add(id)
    }
    return [...kept].flatMap(id => refs.get(id) ?? [])
  }
}

/** Solved by the requests that the rule decides and that no other rule decides the same way. */
function problemOf(
  own: RuleRegion,
  list: "allow" | "deny",
  stages: Stages,
  round: Round,
  against: "none" | "stages" | "all" | ReadonlySet<string>,
  gone: ReadonlySet<string>,
): Problem {
  const matched: Problem = joined(round.given, { needs: [[own]], bans: [] })
  if (against === "none") return matched
  const { transport, missing, good, deny, allow, closed } = stages
  const reached = joined(matched, { needs: good === undefined ? [] : [good], bans: [...transport, ...missing] })
  if (against === "stages") return reached
  const counts = ({ ref }: RuleRegion) => ref.id !== own.ref.id && (against === "all" || against.has(ref.id))
  const others = joined(reached, { needs: [], bans: deny.filter(counts) })
  if (list === "allow") {
    return joined(others, { needs: [], bans: allow.filter(one => counts(one) && !gone.has(one.ref.id)) })
  }
  // A DENY rule matters only if the request would be allowed without it.
  return closed && against === "all" ? joined(others, { needs: [allow], bans: [] }) : others
}
