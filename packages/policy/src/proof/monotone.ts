// SPDX-License-Identifier: Apache-2.0
// Recognises, from the documents and without a search, changes that can only deny more or only allow more. Both
// directions are one relation: a change allows no more exactly if its reverse denies no more. Other changes need a proof.

import type { MeshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PeerAuthentication, PolicyDocument } from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import { hasLabels, targetKey } from "../selection/workload.js"

export interface DocumentChange {
  /** The stored document; undefined if it is new. */
  readonly before: PolicyDocument | undefined
  /** The document after the change; undefined if it is deleted. */
  readonly after: PolicyDocument | undefined
}

/**
 * Whether every request that is allowed after the change was allowed before it, on every workload. `others` are the
 * unchanged documents. May miss a case, and never returns true wrongly:
 *
 * A request is allowed if its connection fits the mTLS mode, its tokens verify, no DENY rule matches it, and an ALLOW
 * rule matches it or no ALLOW policy selects the workload. Each part is decided independently, so it is enough to look
 * at the part that the document affects. Shadow and AUDIT policies affect none. Token rules also change what other
 * rules see, so a changed RequestAuthentication is never recognised.
 */
export function narrows(
  { before, after }: DocumentChange,
  others: Iterable<PolicyDocument>,
  mesh: MeshConfig,
): boolean {
  const [from, to] = [before, after].map(document => effective(document, mesh))
  if (from === undefined && to === undefined) return (before ?? after)?.kind !== "RequestAuthentication"
  if (from !== undefined && to !== undefined && from.kind !== to.kind) return false
  const near = reach(from ?? to, others, mesh)
  if (isAuthorization(from) || isAuthorization(to)) {
    return (
      keepsDenying(asAuthorization(from), asAuthorization(to)) && allowsNoMore(from, to, near, mesh.names.rootNamespace)
    )
  }
  return isPeer(from) || isPeer(to) ? acceptsNoMore(from, to, near) : false
}

/** Undefined if it is not enforced anywhere. */
function effective(document: PolicyDocument | undefined, mesh: MeshConfig): PolicyDocument | undefined {
  if (document === undefined || document.kind === "MeshService" || isShadow(document, mesh)) return undefined
  return isAuthorization(document) && document.spec.action === "AUDIT" ? undefined : document
}

/** The enforced documents that may select a workload that this document selects. */
function reach(
  one: PolicyDocument | undefined,
  others: Iterable<PolicyDocument>,
  mesh: MeshConfig,
): readonly PolicyDocument[] {
  const { rootNamespace } = mesh.names
  const own = one?.metadata.namespace
  return [...others].filter(
    other =>
      (own === rootNamespace || [own, rootNamespace].includes(other.metadata.namespace)) &&
      effective(other, mesh) !== undefined,
  )
}

/** Everything that was denied stays denied: all of its rules remain, in any position. */
function keepsDenying(from: AuthorizationPolicy | undefined, to: AuthorizationPolicy | undefined): boolean {
  // The answer of a provider is unknown, so a change of a CUSTOM policy is never recognised.
  if (from?.spec.action === "CUSTOM" || to?.spec.action === "CUSTOM") return false
  if (from?.spec.action !== "DENY") return true
  if (to?.spec.action !== "DENY" || !selectsAllOf(to, from)) return false
  return rulesOf(from).every(rule => rulesOf(to).some(wide => ruleCovers(wide, rule)))
}

function allowsNoMore(
  from: PolicyDocument | undefined,
  to: PolicyDocument | undefined,
  near: readonly PolicyDocument[],
  rootNamespace: string,
): boolean {
  const [old, young] = [from, to].map(document => (isAllow(document) ? document : undefined))
  if (old === undefined && young === undefined) return true
  const allows = near.filter(isAllow)
  // If there was no other ALLOW policy, all requests to the selected workloads were allowed; now only those its rules
  // match.
  if (old === undefined) return allows.length === 0
  // Another ALLOW policy selects all of those workloads, so they do not become open to every request.
  if (young === undefined) return allows.some(other => selectsAllOf(other, old, rootNamespace))
  const isSameScope = selectsAllOf(young, old) && selectsAllOf(old, young)
  return isSameScope && rulesOf(young).every(rule => rulesOf(old).some(wide => ruleCovers(wide, rule)))
}

/**
 * PERMISSIVE accepts every connection, so any replacement accepts no more. STRICT accepts no connection that PERMISSIVE
 * or STRICT rejects, so it accepts no more unless it replaces DISABLE, which accepts only plaintext. If another policy
 * takes precedence before and after, nothing changes. INVARIANT: both have the same scope and age, or one is absent.
 */
function acceptsNoMore(
  from: PolicyDocument | undefined,
  to: PolicyDocument | undefined,
  near: readonly PolicyDocument[],
): boolean {
  if (isPeer(from) && isPeer(to) && !(selectsAllOf(from, to) && selectsAllOf(to, from))) return false
  if (isPeer(from) && modesOf(from).every(mode => mode === "PERMISSIVE")) return true
  const disables = [...near, from].some(other => isPeer(other) && modesOf(other).includes("DISABLE"))
  return !disables && isPeer(to) && modesOf(to).every(mode => mode === "STRICT")
}

function modesOf({ spec }: PeerAuthentication): readonly string[] {
  const ports = Object.values(spec.portLevelMtls ?? {}).flatMap(({ mode = "UNSET" }) => (mode === "UNSET" ? [] : mode))
  return [spec.mtls?.mode ?? "UNSET", ...ports]
}

type Scoped = AuthorizationPolicy | PeerAuthentication

/** Whether `wide` selects every workload that `narrow` selects, in any set of workloads. */
function selectsAllOf(wide: Scoped, narrow: Scoped, rootNamespace?: string): boolean {
  const isLocal = wide.metadata.namespace === narrow.metadata.namespace
  if (wide.spec.targetRefs !== undefined) {
    const targets = new Set(wide.spec.targetRefs.map(targetKey))
    return isLocal && narrow.spec.targetRefs?.every(target => targets.has(targetKey(target))) === true
  }
  // The selector of a PeerAuthentication also determines its scope, so only the same selector covers it.
  if (isPeer(wide) || isPeer(narrow))
    return isLocal && keyOf(wide.spec.selector) === keyOf(narrow.spec.selector) && narrow.spec.targetRefs === undefined
  // Among policies of other namespaces, only those of the root namespace select everywhere.
  if (!isLocal && wide.metadata.namespace !== rootNamespace) return false
  if (narrow.spec.targetRefs !== undefined) return !hasLabels(wide.spec.selector)
  const labels = narrow.spec.selector?.matchLabels ?? {}
  return Object.entries(wide.spec.selector?.matchLabels ?? {}).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  )
}

/**
 * Whether `wide` matches everything that `narrow` matches: it has all of its alternatives and no further conditions.
 */
function ruleCovers(wide: Rule, narrow: Rule): boolean {
  return (
    alternativesCover(wide.from ?? [], narrow.from ?? []) &&
    alternativesCover(wide.to ?? [], narrow.to ?? []) &&
    includesAll(narrow.when ?? [], wide.when ?? [])
  )
}

/** An empty list of alternatives means any value. */
function alternativesCover(wide: readonly unknown[], narrow: readonly unknown[]): boolean {
  return wide.length === 0 || (narrow.length > 0 && includesAll(wide, narrow))
}

function includesAll(list: readonly unknown[], items: readonly unknown[]): boolean {
  const keys = new Set(list.map(keyOf))
  return items.every(item => keys.has(keyOf(item)))
}

/**
 * INVARIANT: values with equal keys are equal. Equal values whose fields are in another order may have different keys.
 */
function keyOf(value: unknown): string {
  return JSON.stringify(value) ?? ""
}

function rulesOf({ spec }: AuthorizationPolicy): readonly Rule[] {
  return spec.rules ?? []
}

function isAuthorization(document: PolicyDocument | undefined): document is AuthorizationPolicy {
  return document?.kind === "AuthorizationPolicy"
}

function asAuthorization(document: PolicyDocument | undefined): AuthorizationPolicy | undefined {
  return isAuthorization(document) ? document : undefined
}

function isAllow(document: PolicyDocument | undefined): document is AuthorizationPolicy {
  return isAuthorization(document) && (document.spec.action ?? "ALLOW") === "ALLOW"
}

function isPeer(document: PolicyDocument | undefined): document is PeerAuthentication {
  return document?.kind === "PeerAuthentication"
}
