// SPDX-License-Identifier: Apache-2.0
// Finds policies that select no workloads, or other workloads than they seem to: selectors without workloads,
// PeerAuthentications superseded by an older one, selectors in the root namespace, and a policy that turns a whole scope
// to default-deny.

import { peerScope } from "../../peer/mode.js"
import type { AuthorizationPolicy, PeerAuthentication } from "../../resources/document.js"
import { isShadow } from "../../selection/shadow.js"
import { hasLabels } from "../../selection/workload.js"
import { editDistance } from "../../shape/nearest.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import { type KnownWorkload, type PolicySet, remembered, type Scope } from "../policy-set.js"
import { each, limited, type Steps, type Work } from "../work.js"

export function* unselected(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  if (set.workloads === undefined) return found
  for (const policy of [...set.authorizationPolicies, ...set.requestAuthentications, ...set.peerAuthentications]) {
    const scope = set.scopeOf(policy)
    const at = scope.targets === undefined ? "spec.selector.matchLabels" : "spec.targetRefs"
    if (scope.targets === undefined && !hasLabels(policy.spec.selector)) continue
    if (!work.spend(reachCost(set, scope))) return [...found, limited(policy, at)]
    if (work.due) yield
    if (set.reached(scope).length > 0) continue
    if (scope.targets !== undefined) {
      if (scope.atGateways) continue
      const named = scope.targets.map(name => `\`${name}\``).join(", ")
      const isService = scope.targets.some(target => !target.includes("/"))
      const why = `no workload in \`${scope.namespace}\` is behind ${isService ? "the Service " : ""}${named}`
      const fix = isService
        ? "create the Service in the policy's namespace with a selector, or name another"
        : "run `merlond authorizer` there, with a label that names the target"
      found.push(analysisFinding("target-leads-nowhere", policy, at, why, fix))
      continue
    }
    const nearest = yield* nearestLabels(scope, set.workloads, work)
    const fix =
      nearest === undefined
        ? "no workload runs in its scope; deploy it, or remove the policy"
        : `the nearest workload has ${nearest}`
    const why = `no workload ${scope.namespace === undefined ? "of the mesh" : `in \`${scope.namespace}\``} has the labels ${labelText(scope.labels)}`
    found.push(analysisFinding("selector-selects-nothing", policy, at, why, fix))
  }
  return found
}

const LETTERS = 16

/** The cost of finding the workloads that a scope reaches. */
export function reachCost({ workloads = [] }: PolicySet, { labels, targets = [] }: Scope): number {
  return workloads.length * (1 + Object.keys(labels).length + targets.length)
}

/** The labels, those with the selector's keys first, of the workload that misses the selector by the least. */
function* nearestLabels(scope: Scope, workloads: readonly KnownWorkload[], work: Work): Steps<string | undefined> {
  let best: KnownWorkload | undefined
  let least = Number.POSITIVE_INFINITY
  for (const workload of workloads) {
    if (scope.namespace !== undefined && workload.namespace !== scope.namespace) continue
    if (work.due) yield
    let distance = 0
    for (const [key, value] of Object.entries(scope.labels)) {
      // Comparing letter by letter costs about as much as this many values.
      if (!work.spend(LETTERS)) break
      const has = workload.labels[key]
      distance += has === undefined ? key.length + value.length : editDistance(value, has)
    }
    // If not all workloads were compared, none is reported as the nearest.
    if (work.exhausted) break
    if (distance >= least) continue
    least = distance
    best = workload
  }
  if (best === undefined) return undefined
  return `${labelText(best.labels)} (\`${best.namespace}/${best.name}\`)`
}

function labelText(labels: { readonly [key: string]: string }): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? "no labels" : `\`${pairs.join(",")}\``
}

export function* peerPrecedence(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  const rootNamespace = set.mesh.names.rootNamespace
  // By namespace: a policy can be superseded only by one with the same scope, and no scope spans two namespaces.
  const enforced = new Map<string, PeerAuthentication[]>()
  for (const policy of set.peerAuthentications) {
    const { namespace, name } = policy.metadata
    if (namespace === rootNamespace && hasLabels(policy.spec.selector)) {
      const why = "in the root namespace a PeerAuthentication with a selector is ignored"
      const fix = "move it into the workload's namespace, or remove the selector to make it mesh-wide"
      found.push(analysisFinding("ignored-selector", policy, "spec.selector", why, fix))
      continue
    }
    if (isShadow(policy, set.mesh)) continue
    const neighbours = remembered(enforced, namespace, () => [])
    // The policy itself stands for workloads that it certainly selects. Neighbours are sorted, the oldest first.
    const { labels, targets } = set.scopeOf(policy)
    const selected = targets?.map(service => ({ namespace, name, labels, services: [service] }))
    const workloads = selected ?? [{ namespace, name, labels }]
    const older = neighbours.find(
      other =>
        work.spend(workloads.length) &&
        workloads.every(one => peerScope(other, one, set.mesh) === peerScope(policy, one, set.mesh)),
    )
    if (work.exhausted) return [...found, limited(policy, "")]
    if (work.due) yield
    neighbours.push(policy)
    if (older === undefined) continue
    const first = `\`${older.metadata.namespace}/${older.metadata.name}\``
    // Without creation times from a cluster, files do not show which one is older.
    const why =
      older.metadata.creationTimestamp === undefined
        ? `${first} has the same scope, and only the older of the two is asked; port maps are not merged`
        : `${first} is older and of the same scope, so this policy is not asked; port maps are not merged`
    found.push(analysisFinding("superseded", policy, "", why, "merge the two policies into one"))
  }
  return found
}

export function allowsNothing(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const empty = set.authorizationPolicies.filter(
    ({ spec: { action = "ALLOW", rules = [] } }) => action === "ALLOW" && rules.length === 0,
  )
  const cost = (policy: AuthorizationPolicy) => reachCost(set, set.scopeOf(policy))
  const look = (policy: AuthorizationPolicy) => {
    const reached =
      set.workloads === undefined
        ? "every workload in its scope"
        : `${set.reached(set.scopeOf(policy)).length} workloads`
    const why = `an ALLOW policy without rules allows nothing: it turns ${reached} to default-deny`
    return [analysisFinding("allows-nothing", policy, "spec", why, "if all is to be allowed, write `rules: [{}]`")]
  }
  return each(empty, work, { cost, place: policy => limited(policy, "spec"), look })
}
