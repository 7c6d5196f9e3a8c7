// SPDX-License-Identifier: Apache-2.0
// The cases that a test file lacks: for each rule that no case matches a request that the rule decides, found by proof, and
// requests just beside it that are decided otherwise. What is expected is what happens now: people read it before they keep it.

import type { RuleRef } from "../authorization/rule.js"
import { type MeshConfig, meshConfig } from "../mesh/config.js"
import { compareSets } from "../proof/questions/compare.js"
import { concerns } from "../proof/selected.js"
import type { Witness } from "../proof/witness.js"
import type { PolicyDocument } from "../resources/document.js"
import type { Workload } from "../selection/workload.js"
import type { AskedRequest } from "./asked.js"
import { ruleName } from "./rule-name.js"
import { runTests } from "./run-tests.js"
import { describeRequest, type Expectation, type PolicyTestCase, type PolicyTestFile } from "./test-file.js"
import { type Answer, Trial } from "./trial.js"

/** `now` in seconds since the epoch. */
export function missingCases(
  file: PolicyTestFile,
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  now: number,
): readonly PolicyTestCase[] {
  const config = meshConfig({ ...mesh, ...file.mesh, names: mesh.names })
  const unmatched = runTests(file, documents, mesh, now).coverage.filter(({ matched }) => matched === 0)
  return unmatched.flatMap(({ rule }) => {
    const owner = documents.find(document => isOf(document, rule))
    const workload = [...file.workloads.values()].find(one => owner !== undefined && concerns(owner, one, config))
    return workload === undefined ? [] : casesFor(rule, documents, workload, config, now)
  })
}

function isOf({ kind, metadata }: PolicyDocument, { policy }: RuleRef): boolean {
  return kind === "AuthorizationPolicy" && metadata.name === policy.name && metadata.namespace === policy.namespace
}

function casesFor(
  rule: RuleRef,
  documents: readonly PolicyDocument[],
  workload: Workload,
  mesh: MeshConfig,
  now: number,
): readonly PolicyTestCase[] {
  const { changes } = compareSets(
    documents,
    documents.map(document => without(document, rule)),
    workload,
    mesh,
    { now },
  )
  const trial = new Trial(documents, workload, mesh, now)
  for (const { witness } of changes) {
    const request = askedOf(witness)
    const inside = trial.ask(request)
    if (inside.rule?.id !== rule.id) continue
    const beside = besides(request).flatMap(other => {
      const answer = trial.ask(other)
      return answer.verdict === inside.verdict ? [] : [caseOf(other, answer, workload, `beside ${ruleName(rule)}`)]
    })
    return [caseOf(request, inside, workload, `${ruleName(rule)} decides`), ...beside]
  }
  return []
}

function without(document: PolicyDocument, rule: RuleRef): PolicyDocument {
  if (document.kind !== "AuthorizationPolicy" || !isOf(document, rule)) return document
  return {
    ...document,
    spec: { ...document.spec, rules: (document.spec.rules ?? []).filter((_, at) => at !== rule.rule) },
  }
}

function askedOf({
  protocol,
  principal,
  sourceIp,
  destinationIp,
  port,
  sni,
  method,
  host,
  path,
  headers,
  token,
}: Witness): AskedRequest {
  const [kind, name = "", prefix]: readonly string[] = token === undefined ? [] : JSON.parse(token.place)
  const place =
    kind === "header" ? { header: name, prefix: prefix ?? "" } : kind === "cookie" ? { cookie: name } : { param: name }
  const http =
    protocol === "tcp"
      ? { protocol }
      : { method: method ?? "GET", path: path ?? "/", ...(host === undefined ? {} : { host }) }
  return {
    ...http,
    ...(principal === undefined ? {} : { from: principal }),
    ip: sourceIp,
    ...(destinationIp === ANY_ADDRESS ? {} : { destinationIp }),
    port,
    ...(sni === undefined ? {} : { sni }),
    ...(headers === undefined || Object.keys(headers).length === 0 ? {} : { headers }),
    ...(token === undefined
      ? {}
      : { token: { claims: token.claims, ...place, ...(token.key === undefined ? { forged: true } : {}) } }),
  }
}

/** Of a workload of which nothing is said. */
const ANY_ADDRESS = "10.0.0.1"

/** The same with one thing changed. */
function besides(request: AskedRequest): readonly AskedRequest[] {
  const { from: _, ...plain } = request
  const { token: __, ...bare } = request
  return [
    ...(request.from === undefined ? [] : [{ ...request, from: STRANGER }, plain]),
    ...(request.token === undefined ? [] : [bare]),
    ...(request.protocol === "tcp" ? [] : [{ ...request, method: request.method === "DELETE" ? "GET" : "DELETE" }]),
    ...(request.protocol === "tcp" ? [] : [{ ...request, path: `/elsewhere${request.path ?? "/"}` }]),
  ]
}

const STRANGER = "cluster.local/ns/elsewhere/sa/stranger"

function caseOf(request: AskedRequest, answer: Answer, workload: Workload, why: string): PolicyTestCase {
  const expect: Expectation = {
    verdict: answer.verdict,
    ...(answer.verdict === "refuse" ? { status: answer.status ?? 0 } : {}),
    ...(answer.rule === undefined ? {} : { rule: ruleName(answer.rule) }),
  }
  return { name: `${why}: ${describeRequest(request)}`, workload, request, expect }
}

/** As a document that can stand beside the one it completes; undefined where nothing is missing. */
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
