// SPDX-License-Identifier: Apache-2.0
// The label of a node on the map: the number of Pods of a service or of services in a collapsed namespace, the transport of
// incoming calls, and the number of denied calls.

import { COLLAPSED, type Edge, namespaceOf } from "./edges.js"
import type { Services } from "./services.js"

/** `edges` are between services, even if the namespace is collapsed. */
export function aboutService(id: string, services: Services, edges: readonly Edge[]): string {
  const incoming = incomingOf(id, edges)
  const transport = incoming.length === 0 ? undefined : incoming.every(({ isMtls }) => isMtls) ? "mTLS" : "plaintext"
  const size = id.startsWith(COLLAPSED)
    ? counted(servicesOf(id, edges), "service")
    : counted(services.podsOf(id).length, "pod")
  return [...(size === undefined ? [] : [size]), ...(transport ? [transport] : [])].join(" · ")
}

export function deniedAt(id: string, edges: readonly Edge[]): number {
  return incomingOf(id, edges).reduce((sum, { denied }) => sum + denied, 0)
}

/** For a collapsed namespace, this includes the calls inside it, which are not drawn. */
function incomingOf(id: string, edges: readonly Edge[]): readonly Edge[] {
  return edges.filter(({ to }) => to === id || COLLAPSED + namespaceOf(to) === id)
}

function servicesOf(id: string, edges: readonly Edge[]): number {
  const names = new Set(edges.flatMap(({ from, to }) => [from, to]))
  return [...names].filter(name => COLLAPSED + namespaceOf(name) === id).length
}

function counted(many: number, what: string): string | undefined {
  return many === 0 ? undefined : `${many} ${what}${many === 1 ? "" : "s"}`
}
