// SPDX-License-Identifier: Apache-2.0
// The set under analysis, prepared once for all checks: documents by kind, compiled rules, and the scope of each
// policy.

import { type AttributeTable, attributeTable } from "../authorization/attributes.js"
import { type CompiledRule, compileRule } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
  RequestAuthentication,
} from "../resources/document.js"
import { attachesInIstio } from "../selection/istio-attachment.js"
import { isShadow } from "../selection/shadow.js"
import { byAge, selects, targetKey, targetsBefore, type Workload } from "../selection/workload.js"
import type { AnalysisFinding } from "./finding.js"
import type { Steps, Work } from "./work.js"

export interface KnownWorkload extends Workload {
  /** The workload's own ports, if they are known. */
  readonly ports?: readonly number[]
  /** Ports that receive UDP datagrams, which policies do not cover. */
  readonly udpPorts?: readonly number[]
}

export interface AnalysedRule {
  readonly policy: AuthorizationPolicy
  readonly index: number
  readonly at: string
  readonly compiled: CompiledRule
  readonly action: "ALLOW" | "DENY" | "AUDIT" | "CUSTOM"
  readonly shadow: boolean
  readonly scope: Scope
  /** The cost of checking each of its alternatives with all its conditions. */
  readonly size: number
}

/** A rule is compiled once for all workloads it reaches; the comparisons do not depend on their issuers. */
export const anyWorkload = ({ dialect }: MeshConfig): AttributeTable => attributeTable(new Set(), dialect)

/** The scope of a policy: one namespace or all, and the required labels or targets. */
export interface Scope {
  readonly namespace: string | undefined
  readonly labels: { readonly [key: string]: string }
  /** In the notation of `targetKey`. */
  readonly targets?: readonly string[]
  /** Targets are those of Istio: which proxies they lead to is known only for workloads. */
  readonly atGateways?: true
}

export class PolicySet {
  readonly authorizationPolicies: readonly AuthorizationPolicy[]
  readonly requestAuthentications: readonly RequestAuthentication[]
  readonly peerAuthentications: readonly PeerAuthentication[]
  readonly invariants: readonly PolicyInvariant[]
  readonly #rules: AnalysedRule[] = []
  readonly #scopes = new Map<PolicyDocument, Scope>()
  readonly #reached = new Map<Scope, readonly KnownWorkload[]>()
  readonly #ports = new Map<Scope, ReadonlySet<number> | undefined>()

  constructor(
    documents: readonly PolicyDocument[],
    readonly mesh: MeshConfig,
    /** Undefined if the workloads are not known: checks that need them are skipped. */
    readonly workloads: readonly KnownWorkload[] | undefined,
  ) {
    this.authorizationPolicies = documents.filter(document => document.kind === "AuthorizationPolicy").sort(byAge)
    this.requestAuthentications = documents.filter(document => document.kind === "RequestAuthentication").sort(byAge)
    this.peerAuthentications = documents.filter(document => document.kind === "PeerAuthentication").sort(byAge)
    this.invariants = documents.filter(document => document.kind === "PolicyInvariant").sort(byAge)
  }

  /** All rules, after `layOut`. */
  get rules(): readonly AnalysedRule[] {
    return this.#rules
  }

  /** The scope of each ALLOW policy, within which only allowed requests pass. */
  get allowLists(): readonly { readonly scope: Scope; readonly shadow: boolean }[] {
    return this.authorizationPolicies
      .filter(({ spec }) => (spec.action ?? "ALLOW") === "ALLOW")
      .map(policy => ({ scope: this.scopeOf(policy), shadow: isShadow(policy, this.mesh) }))
  }

  /** Compiling is the expensive part, so it can be paused like any check. */
  *layOut(work: Work): Steps<readonly AnalysisFinding[]> {
    for (const policy of this.authorizationPolicies) {
      const rules = this.#rulesOf(policy)
      this.#rules.push(...rules)
      for (const { size } of rules) work.spend(size)
      if (work.due) yield
    }
    return []
  }

  /** Returns the same object for the same policy. */
  scopeOf(policy: AuthorizationPolicy | RequestAuthentication | PeerAuthentication): Scope {
    return remembered(this.#scopes, policy, () => this.#makeScope(policy))
  }

  #makeScope({ metadata, spec }: AuthorizationPolicy | RequestAuthentication | PeerAuthentication): Scope {
    // A target is in the policy's own namespace, also in the root namespace.
    if (spec.targetRefs !== undefined) {
      const targets = spec.targetRefs.map(targetKey)
      const atGateways = this.mesh.dialect === "istio" && ({ atGateways: true } as const)
      return { namespace: metadata.namespace, labels: {}, targets, ...atGateways }
    }
    const namespace = metadata.namespace === this.mesh.names.rootNamespace ? undefined : metadata.namespace
    return { namespace, labels: spec.selector?.matchLabels ?? {} }
  }

  reached(scope: Scope): readonly KnownWorkload[] {
    return remembered(this.#reached, scope, () =>
      (this.workloads ?? []).filter(workload => reaches(scope, workload, this.mesh)),
    )
  }

  /** The ports of all workloads in scope; undefined if there are none or some are unknown. */
  portsOf(scope: Scope): ReadonlySet<number> | undefined {
    return remembered(this.#ports, scope, () => {
      const reached = this.reached(scope)
      if (reached.length === 0 || reached.some(({ ports }) => ports === undefined)) return undefined
      return new Set(reached.flatMap(({ ports }) => ports ?? []))
    })
  }

  #rulesOf(policy: AuthorizationPolicy): readonly AnalysedRule[] {
    const { spec } = policy
    const shadow = isShadow(policy, this.mesh)
    const scope = this.scopeOf(policy)
    return compiledRules(policy, this.mesh).map((compiled, index) => ({
      policy,
      index,
      at: `spec.rules[${index}]`,
      compiled,
      action: spec.action ?? "ALLOW",
      shadow,
      scope,
      size: sizeOf(compiled),
    }))
  }
}

// A stored policy is compared again with every write. It is compiled once, as long as it is the same object.
const COMPILED = new WeakMap<MeshConfig, WeakMap<AuthorizationPolicy, readonly CompiledRule[]>>()

function compiledRules(policy: AuthorizationPolicy, mesh: MeshConfig): readonly CompiledRule[] {
  const known = COMPILED.get(mesh) ?? new WeakMap<AuthorizationPolicy, readonly CompiledRule[]>()
  COMPILED.set(mesh, known)
  const ref = { namespace: policy.metadata.namespace, name: policy.metadata.name }
  const compiled = (): readonly CompiledRule[] => {
    const attributes = anyWorkload(mesh)
    return (policy.spec.rules ?? []).map((rule, i) => compileRule(ref, i, rule, mesh, attributes))
  }
  const rules = known.get(policy) ?? compiled()
  known.set(policy, rules)
  return rules
}

function sizeOf({ from, to, when }: CompiledRule): number {
  const criteria = [...from.flat(), ...to.flat(), ...when]
  return criteria.reduce((sum, { values }) => sum + values.length, 1) + (from.length + to.length) * when.length
}

/** The value created earlier for the key, or a new one. */
export function remembered<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  if (!known.has(key)) known.set(key, make())
  return known.get(key) as V // just set, where it was not there
}

function reaches({ namespace, labels, targets }: Scope, workload: Workload, { names, dialect }: MeshConfig): boolean {
  if (dialect === "istio") return attachesInIstio({ namespace, labels, targets }, workload, names.rootNamespace)
  if (namespace !== undefined && namespace !== workload.namespace) return false
  if (targets !== undefined) {
    const before = targetsBefore(workload, names)
    return targets.some(target => before.includes(target))
  }
  return selects({ matchLabels: labels }, workload)
}

/** Whether `outer` reaches everything that `inner` reaches. */
export function scopeContains(outer: Scope, inner: Scope): boolean {
  if (outer.namespace !== undefined && outer.namespace !== inner.namespace) return false
  // A waypoint ignores policies without targets.
  if (inner.atGateways && outer.targets === undefined) return false
  if (outer.targets !== undefined && !inner.targets?.every(target => outer.targets?.includes(target))) return false
  return Object.entries(outer.labels).every(([key, value]) => inner.labels[key] === value)
}

/** Whether both could reach the same workload. Any two targets may lead to the same one. */
export function scopesMeet(a: Scope, b: Scope): boolean {
  if (a.atGateways || b.atGateways) return true
  if (a.namespace !== undefined && b.namespace !== undefined && a.namespace !== b.namespace) return false
  return Object.entries(a.labels).every(([key, value]) => !Object.hasOwn(b.labels, key) || b.labels[key] === value)
}
