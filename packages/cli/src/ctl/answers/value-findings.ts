// SPDX-License-Identifier: Apache-2.0
// The API's warnings about a policy before it is applied, such as a method in lower case or a path that no request has.

import type { AnalysisFinding, Severity } from "@merlon/policy/analysis"
import type { MeshNames } from "@merlon/policy/mesh"
import { type PolicyDocument, validate, type WarningCode } from "@merlon/policy/resources"

/** Warnings that findings about the whole set report in more detail. */
const SAID_BETTER: ReadonlySet<WarningCode> = new Set<WarningCode>(["denies-tcp", "ignored-policy"])
/** A rule with such a value probably does not do what its author meant. The other warnings are about style. */
const MISLEADING: ReadonlySet<WarningCode> = new Set<WarningCode>([
  "never-matches",
  "literal-wildcard",
  "lower-case-method",
  "label-syntax",
])

export type ValueFinding = Omit<AnalysisFinding, "code"> & { readonly code: WarningCode }

export function valueFindings(document: PolicyDocument, names: MeshNames): readonly ValueFinding[] {
  const { kind, metadata } = document
  return validate(document, names).warnings.flatMap(({ code, path, problem, fix }) => {
    if (SAID_BETTER.has(code)) return []
    const severity: Severity = MISLEADING.has(code) ? "warning" : "info"
    return [{ code, severity, kind, namespace: metadata.namespace, name: metadata.name, path, why: problem, fix }]
  })
}
