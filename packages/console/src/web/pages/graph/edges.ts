// SPDX-License-Identifier: Apache-2.0
// Recorded calls as edges between services, and the edges of one service or namespace.

import type { Destination, ObservedCall } from "../../api/answers.js"
import type { Services } from "./services.js"

export interface Edge {
  readonly from: string
  readonly to: string
  readonly allowed: number
  readonly denied: number
  readonly plaintext: number
  /** The time of the last plaintext call; undefined if there was none. */
  readonly plaintextUntil?: string
  /** Whether the last call used mutual TLS. */
  readonly isMtls: boolean
  /** Recorded calls, the latest first. */
  readonly calls: readonly ObservedCall[]
}

export function edgesOf(calls: readonly ObservedCall[], services: Services): readonly Edge[] {
  const found = new Map<string, { from: string; to: string; calls: ObservedCall[] }>()
  for (const call of calls) {
    const [from, to] = [services.ofCaller(call), services.ofWorkload(call.workload)]
    const known = found.get(`${from} ${to}`)
    if (known === undefined) found.set(`${from} ${to}`, { from, to, calls: [call] })
    else known.calls.push(call)
  }
  return [...found.values()].map(edgeOf).sort((a, b) => (`${a.from} ${a.to}` < `${b.from} ${b.to}` ? -1 : 1))
}

function edgeOf({ from, to, calls }: Pick<Edge, "from" | "to" | "calls">): Edge {
  const sum = (of: (call: ObservedCall) => boolean): number =>
    calls.reduce((all, call) => all + (of(call) ? call.count : 0), 0)
  const lastPlaintext = latest(calls.filter(({ tls }) => !tls))
  return {
    from,
    to,
    allowed: sum(({ verdict }) => verdict === "allow"),
    denied: sum(({ verdict }) => verdict !== "allow"),
    plaintext: sum(({ tls }) => !tls),
    ...(lastPlaintext === "" ? {} : { plaintextUntil: lastPlaintext }),
    isMtls: latest(calls.filter(({ tls }) => tls)) > lastPlaintext,
    calls: [...calls].sort((a, b) => (a.lastSeen < b.lastSeen ? 1 : -1)),
  }
}

/** The latest time; empty if there are no calls. Times of the same format sort as strings. */
function latest(calls: readonly ObservedCall[]): string {
  return (
    calls
      .map(({ lastSeen }) => lastSeen)
      .sort()
      .at(-1) ?? ""
  )
}

/** The edges of a service, or of all services in a namespace. */
export function neighbours(edges: readonly Edge[], place: string): readonly Edge[] {
  return edges.filter(({ from, to }) => isAt(from, place) || isAt(to, place))
}

function isAt(name: string, place: string): boolean {
  return name === place || (!place.includes("/") && namespaceOf(name) === place)
}

/** Calls that only the caller's proxy reported: to a destination without a proxy, outside the mesh, or failed. */
export function unseenByOthers(
  destinations: readonly Destination[],
  place: string | undefined,
  services: Services,
): readonly Destination[] {
  return destinations.filter(
    ({ workload, to, place: where, failures }) =>
      (where !== "mesh" || failures > 0) &&
      (place === undefined ||
        [workload, ...(to === undefined ? [] : [to])].some(name => isAt(services.ofWorkload(name), place))),
  )
}

/** Empty for a caller outside the mesh. */
export function namespaceOf(service: string): string {
  return service.includes("/") ? (service.split("/")[0] ?? "") : ""
}

export const COLLAPSED = "namespace:"

/** Draws each of these namespaces as one node, without the calls inside it. */
export function collapsed(edges: readonly Edge[], namespaces: ReadonlySet<string>): readonly Edge[] {
  const nameOf = (service: string): string => {
    const namespace = namespaceOf(service)
    return namespaces.has(namespace) ? COLLAPSED + namespace : service
  }
  const found = new Map<string, Pick<Edge, "from" | "to" | "calls">>()
  for (const edge of edges) {
    const [from, to] = [nameOf(edge.from), nameOf(edge.to)]
    if (from === to && from.startsWith(COLLAPSED)) continue
    const calls = [...(found.get(`${from} ${to}`)?.calls ?? []), ...edge.calls]
    found.set(`${from} ${to}`, { from, to, calls })
  }
  return [...found.values()].map(edgeOf)
}
