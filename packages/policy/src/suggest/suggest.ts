// SPDX-License-Identifier: Apache-2.0
// Suggests least-privilege policies from observed calls: for each called workload, an ALLOW policy in shadow mode that
// allows requests with the shape of a recorded call, and three proofs about it. Promoting it replaces what the workload's
// ALLOW policies allow; DENY policies, tokens and modes stay unchanged.

import type { ObservedCall } from "../ledger/call.js"
import type { MeshConfig } from "../mesh/config.js"
import { GATEWAY_GROUP } from "../mesh/names.js"
import { DEFAULT_PROOF_LIMITS, type Limits } from "../proof/budget.js"
import { notModelled, notReplayable } from "../proof/certificate/modelled.js"
import { Proofs } from "../proof/certificate/proofs.js"
import { type Comparison, compareSets } from "../proof/questions/compare.js"
import { checkInvariants } from "../proof/questions/invariants.js"
import { concerns } from "../proof/selected.js"
import { lastingName, OF_ONE_POD, type ProofWorkload } from "../proof/workload.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument, PolicyInvariant } from "../resources/document.js"
import { selects } from "../selection/workload.js"
import { ruleOf, rulesOf } from "./call-rule.js"

export type Proof =
  | { readonly verdict: "proved" }
  /** `why` says what shows the opposite, or why it is not known. */
  | { readonly verdict: "refuted" | "undecided"; readonly why: string }

export interface Evidence {
  /** Shapes, and calls that had one of them. */
  readonly shapes: number
  readonly calls: number
  /** Milliseconds since the epoch. */
  readonly firstSeen: number
  readonly lastSeen: number
  /** Call shapes that no rule can express, such as calls from too many addresses. They would be denied. */
  readonly leftOut: number
}

export interface Suggestion {
  readonly workload: ProofWorkload
  readonly policy: AuthorizationPolicy
  readonly evidence: Evidence
  /** Current ALLOW policies, `namespace/name`: as long as they stay, they allow what they did. */
  readonly replaces: readonly string[]
  /** Other workloads that the selector selects too. */
  readonly alsoSelects: readonly string[]
  readonly proofs: {
    /** Recorded calls stay allowed. */
    readonly keeps: Proof
    /** Nothing is allowed that is not today. */
    readonly addsNothing: Proof
    /** Nothing is allowed that has not the shape of a recorded call. */
    readonly asSeen: Proof
  }
}

export interface SuggestOptions {
  readonly limits?: Limits
  /** Seconds since the epoch. */
  readonly now: number
  /** Of the suggested policies. */
  readonly name?: string
  /** Gets each suggestion that is proved with its proofs. */
  readonly suggestions?: SuggestionRecord | undefined
}

export interface SuggestionRecord {
  suggested(workload: ProofWorkload, policy: AuthorizationPolicy, comparison: Comparison, proofs: Proofs): void
  shapes(
    workload: ProofWorkload,
    policy: AuthorizationPolicy,
    shapes: readonly Rule[],
    comparison: Comparison,
    proofs: Proofs,
  ): void
}

/** `documents` are all policies there are. Workloads without a recorded call that was allowed get none. */
export function suggestPolicies(
  calls: readonly ObservedCall[],
  documents: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: SuggestOptions,
): readonly Suggestion[] {
  const byWorkload = new Map<string, ObservedCall[]>()
  for (const call of calls) {
    if (call.verdict !== "allow") continue
    const known = byWorkload.get(call.workload)
    if (known === undefined) byWorkload.set(call.workload, [call])
    else known.push(call)
  }
  const seen = new Map<string, ProofWorkload>()
  for (const workload of workloads) {
    const name = lastingName(workload)
    if (byWorkload.has(name) && !seen.has(name)) seen.set(name, workload)
  }
  return [...seen].map(([name, workload]) =>
    suggestion(byWorkload.get(name) ?? [], documents, workload, workloads, mesh, options),
  )
}

function suggestion(
  calls: readonly ObservedCall[],
  documents: readonly PolicyDocument[],
  workload: ProofWorkload,
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: SuggestOptions,
): Suggestion {
  const own = documents.filter(document => concerns(document, workload, mesh))
  const allowing = own.filter(document => isAllow(document) && document.spec.enforcement !== "Shadow")
  const rest = own.filter(document => !isAllow(document))
  const withRules = calls.flatMap(call => {
    const rule = ruleOf(call)
    return rule === undefined ? [] : [{ call, rule }]
  })
  const { labels, others } = selectorOf(workload, workloads)
  const target = targetOf(workload)
  const policy = policyOf(
    workload,
    labels,
    rulesOf(calls),
    mesh,
    options.name ?? `${target?.name ?? workload.runBy ?? workload.name}-observed`,
  )
  const enforced: AuthorizationPolicy = { ...policy, spec: { ...policy.spec, enforcement: "Enforce" } }
  const proofs = new SuggestionProofs(workload, mesh, policy, options)
  return {
    workload,
    policy,
    evidence: {
      shapes: withRules.length,
      calls: withRules.reduce((sum, { call }) => sum + call.count, 0),
      firstSeen: Math.min(...calls.map(({ firstSeen }) => firstSeen)),
      lastSeen: Math.max(...calls.map(({ lastSeen }) => lastSeen)),
      leftOut: calls.length - withRules.length,
    },
    replaces: allowing.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    alsoSelects: target === undefined ? others : [],
    proofs: {
      keeps: proofs.keeps(
        withRules.map(({ rule }) => rule),
        enforced,
        rest,
      ),
      addsNothing: proofs.addsNothing(own, [...rest, enforced]),
      asSeen: proofs.asSeen(
        withRules.map(({ rule }) => rule),
        enforced,
        rest,
      ),
    },
  }
}

function isAllow(document: PolicyDocument): document is AuthorizationPolicy {
  return document.kind === "AuthorizationPolicy" && (document.spec.action ?? "ALLOW") === "ALLOW"
}

/** What a policy for the proxy of an Istio Gateway targets: a waypoint ignores selectors. */
function targetOf({
  namespace,
  gateway,
}: ProofWorkload):
  | { readonly kind: keyof typeof GROUPS; readonly namespace: string; readonly name: string }
  | undefined {
  if (gateway === undefined) return undefined
  return gateway.target ?? { kind: "Gateway", namespace, name: gateway.name }
}

const GROUPS = { Gateway: GATEWAY_GROUP, Service: "", ServiceEntry: "networking.istio.io" } as const

function policyOf(
  workload: ProofWorkload,
  labels: Readonly<Record<string, string>>,
  rules: readonly Rule[],
  mesh: MeshConfig,
  name: string,
): AuthorizationPolicy {
  const target = targetOf(workload)
  const scope =
    target === undefined
      ? { selector: { matchLabels: labels } }
      : { targetRefs: [{ group: GROUPS[target.kind], kind: target.kind, name: target.name }] }
  return {
    apiVersion: `${mesh.names.securityGroup}/${mesh.names.version}`,
    kind: "AuthorizationPolicy",
    metadata: { name, namespace: target?.namespace ?? workload.namespace },
    spec: { ...scope, enforcement: "Shadow", action: "ALLOW", rules: [...rules] },
  }
}

/** Labels that people choose workloads by. */
const USUAL = ["app", "app.kubernetes.io/name", "k8s-app"]

/** The fewest labels that select this workload alone; where none do, all of them. */
function selectorOf(
  workload: ProofWorkload,
  workloads: readonly ProofWorkload[],
): { readonly labels: Readonly<Record<string, string>>; readonly others: readonly string[] } {
  const near = workloads.filter(
    one => one.namespace === workload.namespace && lastingName(one) !== lastingName(workload),
  )
  const lasting = Object.entries(workload.labels).filter(([name]) => !OF_ONE_POD.test(name))
  const tried = [
    ...USUAL.flatMap(name => lasting.filter(([own]) => own === name).map(one => Object.fromEntries([one]))),
    ...lasting.map(one => Object.fromEntries([one])),
    Object.fromEntries(lasting),
  ]
  const selected = (labels: Readonly<Record<string, string>>) =>
    near.filter(one => selects({ matchLabels: labels }, one)).map(lastingName)
  const alone = tried.find(labels => selected(labels).length === 0)
  const labels = alone ?? Object.fromEntries(lasting)
  return { labels, others: [...new Set(selected(labels))] }
}

const PROVED: Proof = { verdict: "proved" }

class SuggestionProofs {
  readonly #options: { readonly limits: Limits; readonly now: number }
  readonly #record: SuggestionRecord | undefined

  /** `suggested`: as it is printed. */
  constructor(
    readonly workload: ProofWorkload,
    readonly mesh: MeshConfig,
    readonly suggested: AuthorizationPolicy,
    { limits = DEFAULT_PROOF_LIMITS, now, suggestions }: SuggestOptions,
  ) {
    this.#options = { limits, now }
    this.#record = suggestions
  }

  /**
   * Every request of a recorded shape meets the policy. What DENY policies, tokens and modes reject of it they reject today
   * as well, so they are left aside; token rules say how a request principal reads.
   */
  keeps(shapes: readonly Rule[], policy: AuthorizationPolicy, rest: readonly PolicyDocument[]): Proof {
    const invariant: PolicyInvariant = {
      apiVersion: `${this.mesh.names.securityGroup}/${this.mesh.names.version}`,
      kind: "PolicyInvariant",
      metadata: { name: "seen", namespace: this.workload.namespace },
      spec: { always: shapes.map((shape, index) => ({ ...shape, name: `shape ${index}` })) },
    }
    const tokens = rest.filter(({ kind }) => kind === "RequestAuthentication")
    const checked = checkInvariants([invariant], [...tokens, policy], [this.workload], this.mesh, this.#options)
    for (const { rule, result } of checked) {
      if (result.verdict === "undecided") return { verdict: "undecided", why: result.reason }
      if (result.verdict === "broken") return { verdict: "refuted", why: `${rule.name} would be denied` }
    }
    return PROVED
  }

  addsNothing(today: readonly PolicyDocument[], after: readonly PolicyDocument[]): Proof {
    const { comparison, proofs } = this.#compared(today, after)
    this.#record?.suggested(this.workload, this.suggested, comparison, proofs)
    const added = comparison.changes.find(({ to }) => to === "allow")
    if (added !== undefined) return { verdict: "refuted", why: `it would newly allow ${added.region}` }
    return verdictOf(comparison)
  }

  asSeen(shapes: readonly Rule[], policy: AuthorizationPolicy, rest: readonly PolicyDocument[]): Proof {
    const tokens = rest.filter(({ kind }) => kind === "RequestAuthentication")
    const stated: AuthorizationPolicy = { ...policy, spec: { ...policy.spec, rules: [...shapes] } }
    const { comparison, proofs } = this.#compared([...tokens, stated], [...tokens, policy])
    this.#record?.shapes(this.workload, this.suggested, shapes, comparison, proofs)
    const [beyond] = comparison.changes
    if (beyond !== undefined) return { verdict: "refuted", why: `it does not say what was seen: ${beyond.region}` }
    return verdictOf(comparison)
  }

  #compared(before: readonly PolicyDocument[], after: readonly PolicyDocument[]) {
    const both = [...before, ...after]
    const proofs = new Proofs(notModelled(both, this.mesh), notReplayable(both))
    const options = { ...this.#options, proofs: this.#record && proofs }
    return { comparison: compareSets(before, after, this.workload, this.mesh, options), proofs }
  }
}

const verdictOf = ({ undecided }: Comparison): Proof =>
  undecided === undefined ? PROVED : { verdict: "undecided", why: undecided }
