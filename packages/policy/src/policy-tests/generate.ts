// SPDX-License-Identifier: Apache-2.0
// Generates the cases that a test file lacks: for each region of the decision that no case covers, a request found by
// proof. The expectation is the current result, so people must review it before they keep it.

import { ruleName } from "../authorization/rule-name.js"
import type { MeshConfig } from "../mesh/config.js"
import type { PolicyDocument } from "../resources/document.js"
import type { Answer } from "../trial/trial.js"
import { type RegionCoverage, regionCoverage } from "./region-coverage.js"
import type { Region } from "./regions.js"
import { runTests } from "./run-tests.js"
import { describeRequest, type Expectation, type PolicyTestCase, type PolicyTestFile } from "./test-file.js"

/** `now` in seconds since the epoch. */
export function missingCases(
  file: PolicyTestFile,
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  now: number,
): readonly PolicyTestCase[] {
  const run = runTests(file, documents, mesh, now)
  return regionCoverage(file, documents, mesh, now, run).flatMap(casesIn)
}

/** One case if none covers the region, or else an empty list. */
export function casesIn({ region, workload, example }: RegionCoverage): readonly PolicyTestCase[] {
  if (example === undefined) return []
  const { request, answer } = example
  const expect: Expectation = {
    verdict: answer.verdict,
    ...(answer.verdict === "deny" ? { status: answer.status ?? 0 } : {}),
    ...(answer.rule === undefined ? {} : { rule: ruleName(answer.rule) }),
  }
  return [{ name: `${titleOf(region, answer)}: ${describeRequest(request)}`, workload, request, expect }]
}

function titleOf({ of, words }: Region, answer: Answer): string {
  if (of.kind === "stage") return words
  if (of.kind === "beside") return `beside ${ruleName(of.rule)}, by ${of.field}`
  const part = of.part === undefined ? "" : ` ${of.part}`
  return `${ruleName(of.rule)}${part} ${answer.rule?.id === of.rule.id ? "decides" : "matches"}`
}

/** A document that completes the given one; undefined if nothing is missing. */
export function generatedTest(file: PolicyTestFile, cases: readonly PolicyTestCase[]): object | undefined {
  if (cases.length === 0) return undefined
  return {
    apiVersion: "test.merlon.dev/v1alpha1",
    kind: "PolicyTest",
    metadata: { name: file.name === "" ? "generated" : `${file.name}-generated` },
    ...(file.policies.length > 0 ? { policies: file.policies } : {}),
    ...(file.documents.length > 0 ? { documents: file.documents } : {}),
    workloads: Object.fromEntries(
      [...file.workloads].map(([name, { namespace, labels, services = [] }]) => [
        name,
        { namespace, labels, ...(services.length > 0 ? { services } : {}) },
      ]),
    ),
    ...(Object.keys(file.mesh).length > 0 ? { mesh: file.mesh } : {}),
    cases: cases.map(({ name, workload, request, expect }) => ({ name, to: workload.name, request, expect })),
  }
}
