// SPDX-License-Identifier: Apache-2.0
// Findings and invariants as OpenReports objects: one report per namespace with policies, and one for the cluster if
// something was skipped.

import { type CheckedInvariant, describeViolation } from "@merlon/policy/proof"
import { type Found, formatReports, openReport } from "../output/open-report.js"
import type { PlacedFinding } from "./findings.js"
import type { Inputs } from "./inputs.js"
import type { PlacedPolicy } from "./policy-files.js"

const FINDING = "policy analysis"

export interface Analyzed {
  readonly placed: readonly PlacedPolicy[]
  readonly findings: readonly PlacedFinding[]
  readonly invariants: readonly CheckedInvariant[]
  readonly read: Inputs
  /** Seconds since the epoch. */
  readonly now: number
}

export function analysisReports({ placed, findings, invariants, read, now }: Analyzed): string {
  const byNamespace = new Map<string, Found[]>()
  const add = (namespace: string, found: Found): void => {
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), found])
  }
  for (const { document } of placed) {
    const { namespace, name } = document.metadata
    const own = findings.filter(one => one.kind === document.kind && one.namespace === namespace && one.name === name)
    const resources = [{ apiVersion: document.apiVersion, kind: document.kind, namespace, name }]
    for (const one of own) add(namespace, { ...findingResult(one), resources })
    if (own.length === 0)
      add(namespace, { policy: "analyze", category: FINDING, result: "pass", message: "nothing found", resources })
  }
  for (const one of invariants) add(one.rule.invariant.namespace, invariantResult(one))
  const reports = [...byNamespace].map(([namespace, results]) => openReport("analyze", namespace, results, now))
  const skipped = read.skipped.map(
    message => ({ policy: "inputs", category: FINDING, result: "error", message }) as const,
  )
  return formatReports(skipped.length === 0 ? reports : [...reports, openReport("analyze", undefined, skipped, now)])
}

/** Results of OpenReports: `warn` does not count against a score, `error` is something that could not be evaluated. */
const SEVERITIES = {
  error: { result: "fail", severity: "high" },
  warning: { result: "warn", severity: "medium" },
  info: { result: "warn", severity: "info" },
} as const

function findingResult({ code, severity, path, why, fix, file, line }: PlacedFinding): Found {
  const level = code === "not-decided" ? ({ result: "error", severity: "info" } as const) : SEVERITIES[severity]
  return {
    policy: code,
    ...(path === "" ? {} : { rule: path }),
    category: FINDING,
    ...level,
    message: `${why}; ${fix}`,
    ...(file === undefined ? {} : { properties: { file: line === undefined ? file : `${file}:${line}` } }),
  }
}

function invariantResult(one: CheckedInvariant): Found {
  const { rule, workloads, result } = one
  const { verdict } = result
  return {
    policy: rule.invariant.name,
    rule: `${rule.holds}: ${rule.name}`,
    category: "invariant",
    ...(verdict === "broken" ? { severity: "high" } : {}),
    result: verdict === "holds" ? "pass" : verdict === "broken" ? "fail" : "error",
    message: verdict === "holds" ? "holds (proved)" : describeViolation(one),
    ...(workloads.length === 0
      ? {}
      : { properties: { workloads: workloads.map(({ namespace, name }) => `${namespace}/${name}`).join(", ") } }),
  }
}
