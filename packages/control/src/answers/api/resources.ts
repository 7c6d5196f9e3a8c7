// SPDX-License-Identifier: Apache-2.0
// What can be asked: the resources of the API, as discovery tells of them and as roles name them.

import type { MeshNames } from "@merlon/policy"

export const ANSWERS_VERSION = "v1alpha1"

export function answersGroup({ domain }: MeshNames): string {
  return `answers.${domain}`
}

export interface AnswerResource {
  readonly name: string
  readonly kind: string
  readonly verbs: readonly string[]
}

/** Asked about what was seen. */
export const SEEN: readonly AnswerResource[] = [
  { name: "calls", kind: "Call", verbs: ["list"] },
  { name: "decisions", kind: "Decision", verbs: ["get", "list", "watch"] },
  { name: "rules", kind: "RuleUsage", verbs: ["list"] },
  { name: "proxies", kind: "Proxy", verbs: ["get", "list"] },
  { name: "workloads", kind: "WorkloadReport", verbs: ["get", "list"] },
  { name: "readiness", kind: "MtlsReadiness", verbs: ["get", "list"] },
]

/** Asked of the policies that are stored, with those in the question on top; nothing is created. */
export const PROVED: readonly AnswerResource[] = [
  { name: "explanations", kind: "Explanation", verbs: ["create"] },
  { name: "diffs", kind: "PolicyDiff", verbs: ["create"] },
  { name: "callers", kind: "Callers", verbs: ["create"] },
  { name: "reach", kind: "Reach", verbs: ["create"] },
  { name: "analyses", kind: "Analysis", verbs: ["create"] },
  { name: "suggestions", kind: "Suggestion", verbs: ["create"] },
]

export const ANSWERS: readonly AnswerResource[] = [...SEEN, ...PROVED]

export function resourceList(names: MeshNames): object {
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: `${answersGroup(names)}/${ANSWERS_VERSION}`,
    resources: ANSWERS.map(({ name, kind, verbs }) => ({
      name,
      singularName: "",
      namespaced: true,
      kind,
      verbs,
      categories: [],
    })),
  }
}

export function apiGroup(names: MeshNames): object {
  const name = answersGroup(names)
  const version = { groupVersion: `${name}/${ANSWERS_VERSION}`, version: ANSWERS_VERSION }
  return { kind: "APIGroup", apiVersion: "v1", name, versions: [version], preferredVersion: version }
}
