// SPDX-License-Identifier: Apache-2.0
// Finds out whether an older PeerAuthentication of the same scope supersedes this one, and on how many of its
// workloads.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { PeerAuthentication } from "@merlon/policy/resources"
import { PeerModes, peerScope, type Workload } from "@merlon/policy/selection"
import type { Supersession } from "./condition-inputs.js"

/**
 * `neighbours`: the PeerAuthentications of its own namespace, including this one; no others can have the same scope.
 */
export function supersessionOf(
  policy: PeerAuthentication,
  neighbours: Iterable<PeerAuthentication>,
  selected: Iterable<Workload>,
  mesh: MeshConfig,
): Supersession | undefined {
  const { namespace, name } = policy.metadata
  const { selector, targetRefs = [] } = policy.spec
  const all = [...neighbours]
  // The policy itself describes a workload that it certainly selects.
  const services = targetRefs.slice(0, 1).map(target => target.name)
  const own: Workload = { namespace, name, labels: selector?.matchLabels ?? {}, services }
  const losing = (workload: Workload): Supersession["overridden"] | undefined =>
    new PeerModes(all, workload, mesh).resolve(0).losers.find(overridden => overridden.policy.name === name)
  let workloads = 0
  // Workloads differ only for policies with a selector.
  if (peerScope(policy, own, mesh) !== "workload") {
    const overridden = losing(own)
    if (overridden === undefined) return undefined
    for (const _ of selected) workloads++
    return { overridden, workloads }
  }
  let first: Supersession["overridden"] | undefined
  let any = false
  for (const workload of selected) {
    any = true
    const overridden = losing(workload)
    if (overridden === undefined) continue
    first ??= overridden
    workloads++
  }
  first ??= any ? undefined : losing(own)
  return first === undefined ? undefined : { overridden: first, workloads }
}
