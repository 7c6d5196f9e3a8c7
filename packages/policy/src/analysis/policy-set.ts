// SPDX-License-Identifier: Apache-2.0
// The set under analysis, laid out once for all checks: documents by kind, rules compiled, and the reach of each policy.

import { type CompiledRule, compileRule } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyDocument,
  RequestAuthentication,
} from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import { byAge, selects, type Workload } from "../selection/workload.js"

export interface KnownWorkload extends Workload {
  /** The workload's own ports, where they are known. */
  readonly ports?: readonly number[]
}

export interface AnalysedRule {
  readonly policy: AuthorizationPolicy
  readonly index: number
  readonly at: string
  readonly compiled: CompiledRule
  readonly action: "ALLOW" | "DENY" | "AUDIT"
  readonly shadow: boolean
  readonly scope: Scope
}

/** What a policy reaches: one namespace or all, and the labels it insists on. */
export interface Scope {
  readonly namespace: string | undefined
  readonly labels: { readonly [key: string]: string }
}

export class PolicySet {
  readonly authorizationPolicies: readonly AuthorizationPolicy[]
  readonly requestAuthentications: readonly RequestAuthentication[]
  readonly peerAuthentications: readonly PeerAuthentication[]
  readonly rules: readonly AnalysedRule[]

  constructor(
    documents: readonly PolicyDocument[],
    readonly mesh: MeshConfig,
    /** Undefined where nobody knows what runs: checks that need it are then left out. */
    readonly workloads: readonly KnownWorkload[] | undefined,
  ) {
    this.authorizationPolicies = documents.filter(document => document.kind === "AuthorizationPolicy").sort(byAge)
    this.requestAuthentications = documents.filter(document => document.kind === "RequestAuthentication").sort(byAge)
    this.peerAuthentications = documents.filter(document => document.kind === "PeerAuthentication").sort(byAge)
    this.rules = this.authorizationPolicies.flatMap(policy => this.#rulesOf(policy))
  }

  scopeOf({ metadata, spec }: Exclude<PolicyDocument, { kind: "MeshService" }>): Scope {
    const namespace = metadata.namespace === this.mesh.names.rootNamespace ? undefined : metadata.namespace
    return { namespace, labels: spec.selector?.matchLabels ?? {} }
  }

  reached(scope: Scope): readonly KnownWorkload[] {
    return (this.workloads ?? []).filter(
      workload =>
        (scope.namespace === undefined || scope.namespace === workload.namespace) &&
        selects({ matchLabels: scope.labels }, workload),
    )
  }

  #rulesOf(policy: AuthorizationPolicy): readonly AnalysedRule[] {
    const { metadata, spec } = policy
    const ref = { namespace: metadata.namespace, name: metadata.name }
    return (spec.rules ?? []).map((rule, index) => ({
      policy,
      index,
      at: `spec.rules[${index}]`,
      compiled: compileRule(ref, index, rule, this.mesh),
      action: spec.action ?? "ALLOW",
      shadow: isShadow(policy, this.mesh),
      scope: this.scopeOf(policy),
    }))
  }
}

/** Whether everything `inner` reaches is reached by `outer` too. */
export function scopeContains(outer: Scope, inner: Scope): boolean {
  if (outer.namespace !== undefined && outer.namespace !== inner.namespace) return false
  return Object.entries(outer.labels).every(([key, value]) => inner.labels[key] === value)
}

/** Whether some workload could be reached by both. */
export function scopesMeet(a: Scope, b: Scope): boolean {
  if (a.namespace !== undefined && b.namespace !== undefined && a.namespace !== b.namespace) return false
  return Object.entries(a.labels).every(([key, value]) => !Object.hasOwn(b.labels, key) || b.labels[key] === value)
}
