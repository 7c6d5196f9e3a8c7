// SPDX-License-Identifier: Apache-2.0
// Only the oldest PeerAuthentication of a scope applies. Files contain no creation time unless they were exported from
// a cluster, so the oldest may be unknown.

import { isDeepStrictEqual } from "node:util"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { isShadow, peerScope, type Workload } from "@merlon/policy/selection"
import type { InputLog } from "./inputs.js"

type Peer = Extract<PolicyDocument, { kind: "PeerAuthentication" }>

/** Logs PeerAuthentications if the mTLS mode of one of these workloads depends on their age. */
export function logUndated(
  policies: readonly PolicyDocument[],
  workloads: readonly Workload[],
  mesh: MeshConfig,
  log: Pick<InputLog, "skip">,
): void {
  const byNamespace = new Map<string, Peer[]>()
  for (const policy of policies) {
    if (policy.kind !== "PeerAuthentication" || isShadow(policy, mesh)) continue
    push(byNamespace, policy.metadata.namespace, policy)
  }
  for (const workload of workloads) {
    const byScope = new Map<string, Peer[]>()
    for (const namespace of new Set([workload.namespace, mesh.names.rootNamespace])) {
      for (const policy of byNamespace.get(namespace) ?? []) {
        push(byScope, peerScope(policy, workload, mesh) ?? "none", policy)
      }
    }
    byScope.delete("none")
    for (const peers of byScope.values()) logDiffering(peers, log)
  }
}

function push(groups: Map<string, Peer[]>, key: string, policy: Peer): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, [policy])
  else group.push(policy)
}

function logDiffering(peers: readonly Peer[], log: Pick<InputLog, "skip">): void {
  const [first, ...others] = peers
  // A policy that a cluster has stored is older than one that it has not.
  if (first === undefined || peers.some(({ metadata }) => metadata.creationTimestamp)) return
  if (others.every(other => isDeepStrictEqual(modesOf(other), modesOf(first)))) return
  const named = peers.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()
  log.skip(`PeerAuthentications ${named.join(", ")}: the oldest counts, and files do not say which one it is`)
}

const modesOf = ({ spec }: Peer) => [spec.mtls?.mode ?? "UNSET", spec.portLevelMtls]
