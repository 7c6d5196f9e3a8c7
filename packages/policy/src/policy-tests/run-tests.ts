// SPDX-License-Identifier: Apache-2.0
// Runs policy tests: judges each case with the evaluator that proxies use, compares the result with the expectation, and
// records which rules took part.

import type { RuleRef } from "../authorization/rule.js"
import { ruleName } from "../authorization/rule-name.js"
import { type MeshConfig, meshConfig } from "../mesh/config.js"
import { describeViolation } from "../proof/questions/assess-change.js"
import { checkInvariants } from "../proof/questions/invariants.js"
import type { PolicyDocument, PolicyInvariant } from "../resources/document.js"
import type { Workload } from "../selection/workload.js"
import { RequestDescriptionError } from "../trial/request-description-error.js"
import { type Answer, Trial } from "../trial/trial.js"
import type { Expectation, PolicyTestCase, PolicyTestFile } from "./test-file.js"

export interface CaseResult {
  /** A case, or an invariant on one workload. */
  readonly test: Pick<PolicyTestCase, "name">
  readonly passed: boolean
  /** The differences, one line each; empty if the case passed. */
  readonly differences: readonly string[]
  /** Absent for an invariant, and if the request cannot be built. */
  readonly answer: Answer | undefined
  /** The workload of the case. */
  readonly workload?: Workload
}

export interface RuleCoverage {
  readonly rule: RuleRef
  /** The number of cases in which the rule matched. */
  readonly matched: number
  /** The number of cases that it decided. */
  readonly decided: number
}

export interface TestRun {
  readonly results: readonly CaseResult[]
  readonly coverage: readonly RuleCoverage[]
}

/** `now` in seconds since the epoch: the time at which tokens are signed and judged. */
export function runTests(
  { cases, mesh: settings, invariants, workloads }: PolicyTestFile,
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  now: number,
): TestRun {
  const config = meshConfig({ ...mesh, ...settings, names: mesh.names })
  const trials = new Map<Workload, Trial>()
  const results = cases.map(test => {
    const trial = trials.get(test.workload) ?? new Trial(documents, test.workload, config, now)
    trials.set(test.workload, trial)
    return runCase(test, trial)
  })
  const stated = [...workloads.values()].flatMap(workload => checked(invariants, documents, workload, config, now))
  return { results: [...results, ...stated], coverage: coverageOf(documents, results) }
}

/** Proves each invariant for every request to the workload. */
function checked(
  invariants: PolicyTestFile["invariants"],
  documents: readonly PolicyDocument[],
  workload: Workload,
  mesh: MeshConfig,
  now: number,
): readonly CaseResult[] {
  const invariant: PolicyInvariant = {
    apiVersion: `${mesh.names.securityGroup}/${mesh.names.version}`,
    kind: "PolicyInvariant",
    metadata: { name: "tests", namespace: workload.namespace },
    spec: invariants,
  }
  return checkInvariants([invariant], documents, [workload], mesh, { now }).map(one => {
    const name = `${one.rule.holds}: ${one.rule.name} (${workload.namespace}/${workload.name})`
    const passed = one.result.verdict === "holds"
    return { test: { name }, passed, differences: passed ? [] : [describeViolation(one)], answer: undefined }
  })
}

function runCase(test: PolicyTestCase, trial: Trial): CaseResult {
  try {
    const answer = trial.ask(test.request)
    const differences = differencesOf(test.expect, answer)
    return { test, passed: differences.length === 0, differences, answer, workload: test.workload }
  } catch (error) {
    if (!(error instanceof RequestDescriptionError)) throw error
    return { test, passed: false, differences: [error.message], answer: undefined, workload: test.workload }
  }
}

function differencesOf(expected: Expectation, answer: Answer): readonly string[] {
  const { verdict, stage, body } = answer
  const status = answer.status ?? 0
  const rule = answer.rule && ruleName(answer.rule)
  const comparisons: readonly (readonly [string, string | number | undefined, string | number | undefined, boolean])[] =
    [
      ["verdict", expected.verdict, verdict, expected.verdict === verdict],
      ["status", expected.status, status === 0 && verdict === "deny" ? "closed" : status, expected.status === status],
      ["stage", expected.stage, stage, expected.stage === stage],
      ["rule", expected.rule, rule, rule === expected.rule || rule?.split("/")[1] === expected.rule],
      ["body", expected.body, body, expected.body === body],
    ]
  return comparisons.flatMap(([what, wanted, got, same]) =>
    wanted === undefined || same ? [] : [`expected ${what} \`${wanted}\`, got \`${got ?? "none"}\``],
  )
}

function coverageOf(documents: readonly PolicyDocument[], results: readonly CaseResult[]): readonly RuleCoverage[] {
  const counts = new Map<string, { rule: RuleRef; matched: number; decided: number }>()
  for (const { kind, metadata, spec } of documents) {
    if (kind !== "AuthorizationPolicy") continue
    const policy = { namespace: metadata.namespace, name: metadata.name }
    for (const index of (spec.rules ?? []).keys()) {
      const id = `ns[${policy.namespace}]-policy[${policy.name}]-rule[${index}]`
      counts.set(id, { rule: { policy, rule: index, id }, matched: 0, decided: 0 })
    }
  }
  for (const { answer } of results) {
    for (const { rules } of answer?.trace?.policies ?? []) {
      for (const { rule, matched } of rules) {
        const count = counts.get(rule.id)
        if (matched && count !== undefined) count.matched++
      }
    }
    const decided = answer?.rule && counts.get(answer.rule.id)
    if (decided !== undefined) decided.decided++
  }
  return [...counts.values()]
}
