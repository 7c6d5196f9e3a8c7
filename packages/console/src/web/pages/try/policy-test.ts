// SPDX-License-Identifier: Apache-2.0
// Writes a policy test as YAML. Every value is written as JSON, which is valid YAML, so that no value can break the syntax.

import type { Explanation } from "../../api/answers.js"
import type { Asked } from "./question.js"

export function policyTest(
  domain: string,
  { workload, request }: Asked,
  { verdict, status }: Explanation,
  labels: Readonly<Record<string, string>>,
): string {
  const [namespace = "default", name = "workload"] = workload.split("/")
  const expected = verdict === "allow" ? "allow" : (status ?? "closed")
  return `apiVersion: test.${domain}/v1alpha1
kind: PolicyTest
metadata: { name: ${JSON.stringify(`${name}-request`)} }
workloads:
  ${JSON.stringify(name)}: ${JSON.stringify({ namespace, labels })}
cases:
  - name: ${JSON.stringify(`${String(request.method)} ${String(request.path)}`)}
    to: ${JSON.stringify(name)}
    request: ${JSON.stringify(request)}
    expect: ${JSON.stringify(expected)}
`
}
