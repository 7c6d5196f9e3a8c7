// SPDX-License-Identifier: Apache-2.0
// The resources of the API, under their names in discovery and in roles.

import type { MeshNames } from "@merlon/policy/mesh"

export const ANSWERS_VERSION = "v1alpha1"

export function answersGroup({ domain }: MeshNames): string {
  return `answers.${domain}`
}

export interface AnswerResource {
  readonly name: string
  readonly kind: string
  readonly verbs: readonly string[]
  /** Description of the kind, for readers of the API's schema. */
  readonly about: string
  readonly fields: string
}

/** Queries about observations. */
export const OBSERVATION_RESOURCES: readonly AnswerResource[] = [
  {
    name: "calls",
    kind: "Call",
    verbs: ["list"],
    about: "a kind of call, how often it was observed, and when",
    fields:
      "caller, address, from, workload, port, protocol, method, path, tls, issuer, verdict, stage, rule, audit, shadow, firstSeen, lastSeen, count",
  },
  {
    name: "destinations",
    kind: "Destination",
    verbs: ["list"],
    about: "one destination that a workload called, counted by the workload's proxies since they started",
    fields:
      "workload, destination, place, to, transport, count, failures, lastStatus, lastFailure, lastReason, lastDecision, firstSeen, lastSeen",
  },
  {
    name: "decisions",
    kind: "Decision",
    verbs: ["get", "list", "watch"],
    about: "one decision of one proxy; each proxy keeps its last thousand",
    fields:
      "workload, time, id, verdict, stage, protocol, port, method, path, status, peer, source, rule, reason, shadow, explanation",
  },
  {
    name: "rules",
    kind: "RuleUsage",
    verbs: ["list"],
    about: "one rule of one policy, how often it decided a call, and since when it is observed",
    fields: "kind, policy, rule, field, action, enforcement, count, firstSeen, lastSeen, watchedSince",
  },
  {
    name: "proxies",
    kind: "Proxy",
    verbs: ["get", "list"],
    about: "one connected proxy, its revision, and how far it lags",
    fields: "workload, connectedAt, revision, resources, behind, lagMs, rejection, version, calls",
  },
  {
    name: "workloads",
    kind: "WorkloadReport",
    verbs: ["get", "list"],
    about:
      "one workload: identity, Pods and their proxies, the mTLS mode of each port and its source, the policies in force",
    fields: "workload, identity, labels, services, pods, otherwise, ports, policies",
  },
  {
    name: "readiness",
    kind: "MtlsReadiness",
    verbs: ["get", "list"],
    about: "one workload, and whether its ports are ready for STRICT",
    fields: "state, why, ports, calls, plaintext, windowStart, observedSince, forgottenUntil",
  },
]

/** Queries about who changed policies. */
export const HISTORY_RESOURCES: readonly AnswerResource[] = [
  {
    name: "changes",
    kind: "PolicyChange",
    verbs: ["get", "list"],
    about: "one change of a policy: who made it, when, and what it newly allowed and denied (proved)",
    fields:
      "sequence, time, user, operation, kind, namespace, name, uid, generation, before, after, difference, certificate, previous, digest",
  },
]

/** Queries about the stored policies, with those of the query on top; nothing is created. */
export const PROOF_RESOURCES: readonly AnswerResource[] = [
  {
    name: "explanations",
    kind: "Explanation",
    verbs: ["create"],
    about: "whether a request is allowed, and why",
    fields: "workload, request, documents, remove",
  },
  {
    name: "diffs",
    kind: "PolicyDiff",
    verbs: ["create"],
    about:
      "which requests a change of policies decides differently (proved); with `since`, which it decides differently since then",
    fields: "documents, remove, since, until",
  },
  {
    name: "callers",
    kind: "Callers",
    verbs: ["create"],
    about: "who can call a workload (proved)",
    fields: "workload, operation, documents, remove",
  },
  {
    name: "reach",
    kind: "Reach",
    verbs: ["create"],
    about: "what an identity can call (proved)",
    fields: "principal, documents, remove",
  },
  {
    name: "analyses",
    kind: "Analysis",
    verbs: ["create"],
    about: "problems of the policies, such as rules without effect",
    fields: "documents, remove",
  },
  {
    name: "suggestions",
    kind: "Suggestion",
    verbs: ["create"],
    about: "a policy that allows the calls that were observed and allowed",
    fields: "workload, documents, remove",
  },
]

export const ANSWERS: readonly AnswerResource[] = [...OBSERVATION_RESOURCES, ...HISTORY_RESOURCES, ...PROOF_RESOURCES]

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
