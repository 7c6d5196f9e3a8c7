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
    const { namespace } = policy.metadata
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), policy])
  }
  for (const peers of byNamespace.values()) if (peers.length > 1) logOf(peers, workloads, mesh, log)
}

function logOf(
  peers: readonly Peer[],
  workloads: readonly Workload[],
  mesh: MeshConfig,
  log: Pick<InputLog, "skip">,
): void {
  for (const workload of workloads) {
    for (const scope of ["mesh", "namespace", "workload"] as const) {
      const [first, ...others] = peers.filter(policy => peerScope(policy, workload, mesh) === scope)
      // A policy that a cluster has stored is older than one that it has not.
      if (first === undefined || [first, ...others].some(({ metadata }) => metadata.creationTimestamp)) continue
      if (others.every(other => isDeepStrictEqual(modesOf(other), modesOf(first)))) continue
      const named = [first, ...others].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()
      log.skip(`PeerAuthentications ${named.join(", ")}: the oldest counts, and files do not say which one it is`)
    }
  }
}

const modesOf = ({ spec }: Peer) => [spec.mtls?.mode ?? "UNSET", spec.portLevelMtls]
