// SPDX-License-Identifier: Apache-2.0
// Decides which MeshServices may configure a host (docs/semantics.md, "Who governs a host"): those of its Service's own
// namespace, then those of the root namespace. A MeshService elsewhere is a guest: it applies only to callers of its
// own namespace, and only if no other applies, so that no tenant can redirect another's calls or remove their
// encryption.

import type { MeshService } from "@merlon/policy/resources"
import { byAge } from "@merlon/policy/selection"
import { hostAliases, hostCandidates } from "./host-name.js"

export interface MeshScope {
  readonly clusterDomain: string
  readonly rootNamespace: string
}

/** Undefined for a host that is not a Service's name. */
export function namespaceOf(host: string, { clusterDomain }: MeshScope): string | undefined {
  return hostAliases(host, clusterDomain)[1]?.split(".")[1]
}

/** Whether documents of the namespace apply only to its own callers. */
export function isGuest(namespace: string, host: string, scope: MeshScope): boolean {
  return namespace !== namespaceOf(host, scope) && namespace !== scope.rootNamespace
}

/** Whether documents of one namespace apply to calls from another to this host. */
export function appliesTo(namespace: string, host: string, caller: string | undefined, scope: MeshScope): boolean {
  return namespace === caller || !isGuest(namespace, host, scope)
}

/** Own namespace, root namespace, guests; within each, the oldest first. */
export function byPrecedence(host: string, scope: MeshScope): (a: MeshService, b: MeshService) => number {
  const own = namespaceOf(host, scope)
  const rank = ({ metadata: { namespace } }: MeshService): number =>
    namespace === own ? 0 : namespace === scope.rootNamespace ? 1 : 2
  return (a, b) => rank(a) - rank(b) || byAge(a, b)
}

/** Every host that a MeshService configures, in all full names that its hosts may mean. */
export function hostsOf({ metadata, spec }: MeshService, { clusterDomain }: MeshScope): ReadonlySet<string> {
  return new Set(spec.hosts.flatMap(host => hostCandidates(host, metadata.namespace, clusterDomain)))
}

/** Hosts for which the document is a guest, as it spells them. */
export function guestHosts({ metadata: { namespace }, spec }: MeshService, scope: MeshScope): readonly string[] {
  return spec.hosts.filter(host =>
    hostCandidates(host, namespace, scope.clusterDomain).every(spelling => isGuest(namespace, spelling, scope)),
  )
}
