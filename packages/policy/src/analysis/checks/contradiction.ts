// SPDX-License-Identifier: Apache-2.0
// Finds alternatives that no request can match: a value that a `not` field of the same alternative excludes, two fields
// that require different values of one attribute, or a path that normalisation never produces. In an invariant's `never`,
// such an alternative holds vacuously.

import type { Clause, Criterion } from "../../authorization/criterion.js"
import { isTemplate } from "../../authorization/path-template.js"
import { type CompiledRule, compileRule } from "../../authorization/rule.js"
import type { MeshConfig } from "../../mesh/config.js"
import { normalizePath } from "../../request/path.js"
import type { PolicyDocument } from "../../resources/document.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { anyWorkload, type PolicySet, type Scope } from "../policy-set.js"
import { limited, type Steps, type Work } from "../work.js"

interface Stated {
  readonly policy: PolicyDocument
  readonly at: string
  readonly compiled: CompiledRule
  /** Undefined for an invariant, which names its workloads itself. */
  readonly scope?: Scope
}

export function* contradictions(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  for (const rule of [...set.rules, ...nevers(set)]) {
    found.push(...(yield* ruleContradictions(rule, set, work)))
    if (work.exhausted) return [...found, limited(rule.policy, rule.at)]
  }
  return found
}

function* nevers({ invariants, mesh }: PolicySet): Generator<Stated> {
  const attributes = anyWorkload(mesh)
  for (const policy of invariants) {
    for (const [index, { name: _, ...rule }] of (policy.spec.never ?? []).entries()) {
      const compiled = compileRule(policy.metadata, index, rule, mesh, attributes)
      yield { policy, at: `spec.never[${index}]`, compiled }
    }
  }
}

function* ruleContradictions(rule: Stated, set: PolicySet, work: Work): Steps<AnalysisFinding[]> {
  const { from, to, when } = rule.compiled
  const found: AnalysisFinding[] = []
  const report = (at: string, why: string | undefined): void => {
    if (why === undefined) return
    const fix = "remove the contradiction, or the alternative if it is not needed"
    const code = rule.policy.kind === "PolicyInvariant" ? "invariant-holds-vacuously" : "rule-never-matches"
    found.push(analysisFinding(code, rule.policy, at === "" ? rule.at : `${rule.at}.${at}`, why, fix))
  }
  const alone = yield* contradiction(when, set, rule, work)
  report("when", alone)
  if (alone !== undefined) return found
  for (const [index, clause] of from.entries())
    report(`from[${index}]`, yield* contradiction([...clause, ...when], set, rule, work))
  for (const [index, clause] of to.entries())
    report(`to[${index}]`, yield* contradiction([...clause, ...when], set, rule, work))
  return found
}

/** Also undefined if the budget is exhausted: a contradiction that was not found is no finding. */
function* contradiction(clause: Clause, set: PolicySet, rule: Stated, work: Work): Steps<string | undefined> {
  for (const wanted of clause) {
    if (wanted.negated) continue
    for (const other of clause) {
      if (!work.spend(1)) return undefined
      if (other === wanted || other.attribute.name !== wanted.attribute.name) continue
      if (work.due) yield
      if (other.negated && (yield* takenAway(wanted, other, work))) {
        return `\`${wanted.field}\` wants only what \`${other.field}\` excludes, so this can never match`
      }
      if (!other.negated && isSingle(wanted) && (yield* apart(wanted, other, work))) {
        return `\`${wanted.field}\` and \`${other.field}\` want different values of the same attribute, so this can never match`
      }
    }
    if (work.exhausted) return undefined
    const impossible = wanted.values.every(value => neverMatches(wanted, value, set.mesh))
    if (impossible) return `no request can match \`${wanted.field}\` (${listed(wanted.values)})`
    const unserved = unservedPorts(wanted, set, rule)
    if (unserved !== undefined) return unserved
  }
  return undefined
}

function* takenAway(wanted: Criterion, excluded: Criterion, work: Work): Steps<boolean> {
  for (const narrow of wanted.extents) {
    if (work.due) yield
    if (!excluded.extents.some(wide => work.spend(1) && wide.covers(narrow))) return false
  }
  return true
}

function* apart(a: Criterion, b: Criterion, work: Work): Steps<boolean> {
  for (const one of a.extents) {
    if (work.due) yield
    // An exhausted budget counts as met: two fields that were not compared are not reported as apart.
    if (!b.extents.every(other => work.spend(1) && one.isApartFrom(other))) return false
  }
  return true
}

/** Headers and claims may have several values at once, which can satisfy two fields that require different ones. */
function isSingle({ attribute: { name } }: Criterion): boolean {
  return (
    !name.startsWith("request.headers[") && (!name.startsWith("request.auth.") || name === "request.auth.principal")
  )
}

function neverMatches({ attribute: { name } }: Criterion, value: string, mesh: MeshConfig): boolean {
  if (name !== "path" || isTemplate(value) || value.startsWith("*")) return false
  if (/[?#]/.test(value) || !value.startsWith("/")) return true
  if (!value.endsWith("*")) return normalizePath(value, mesh.pathNormalization, mesh.dialect) !== value
  // Only the complete segments of a prefix: the last one may continue, even within an escape.
  const whole = value.slice(0, value.lastIndexOf("/") + 1)
  return !(normalizePath(`${whole}a`, mesh.pathNormalization, mesh.dialect) ?? "").startsWith(whole)
}

function unservedPorts({ attribute, values, field }: Criterion, set: PolicySet, { scope }: Stated): string | undefined {
  if (attribute.name !== "destination.port" || set.workloads === undefined || scope === undefined) return undefined
  // An Istio sidecar accepts connections to every port, whether the Pod declares it or not.
  if (set.mesh.dialect === "istio") return undefined
  const ports = set.portsOf(scope)
  if (ports === undefined || values.some(value => ports.has(Number(value)))) return undefined
  return `no selected workload has one of the ports in \`${field}\` (${listed(values)}); they have ${listed([...ports].map(String))}, and the Service's port is not meant`
}

function listed(values: readonly string[]): string {
  const shown = values.slice(0, 3).map(value => `\`${value}\``)
  return values.length > 3 ? `${shown.join(", ")}, …` : shown.join(", ")
}
