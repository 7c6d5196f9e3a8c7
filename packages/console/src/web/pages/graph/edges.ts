// SPDX-License-Identifier: Apache-2.0
// Who called whom, as edges, and which of them concern a place.

import type { Destination, ObservedCall } from "../../api/answers.js"
import { keyOf, type Pod } from "../../api/objects.js"
import { cellsOf } from "../matrix/seen-matrix.js"
import { callerOf } from "../workloads/call-table.js"

export interface Edge {
  readonly from: string
  readonly to: string
  readonly allowed: number
  readonly refused: number
  readonly plaintext: number
  /** When the last came in plaintext; absent where none did. */
  readonly plaintextUntil?: string
  /** Whether the last call came by mutual TLS, whatever was before. */
  readonly isMtls: boolean
}

export function edgesOf(calls: readonly ObservedCall[], pods: readonly Pod[]): readonly Edge[] {
  return [...cellsOf(calls, call => identityOf(call, pods)).values()]
    .map(({ caller, workload, allowed, refused, plaintext, lastPlaintext, lastMtls }) => ({
      from: caller,
      to: workload,
      allowed,
      refused,
      plaintext,
      ...(lastPlaintext === "" ? {} : { plaintextUntil: lastPlaintext }),
      isMtls: lastMtls > lastPlaintext,
    }))
    .sort((a, b) => (`${a.from} ${a.to}` < `${b.from} ${b.to}` ? -1 : 1))
}

/** In plaintext a caller has no identity to show, but whoever has its address runs under one: both are one caller. */
function identityOf(call: ObservedCall, pods: readonly Pod[]): string {
  const { caller, from } = call
  const pod = caller === undefined && from !== undefined ? podOf(from, pods) : undefined
  const account = pod?.spec?.serviceAccountName
  return pod === undefined || account === undefined ? callerOf(call) : `${pod.metadata.namespace}/${account}`
}

/** By its own name, or by that of what runs it. */
function podOf(workload: string, pods: readonly Pod[]): Pod | undefined {
  return pods.find(pod => keyOf(pod) === workload) ?? pods.find(pod => keyOf(pod).startsWith(`${workload}-`))
}

/** Of a workload, or of all in a namespace. */
export function neighbours(edges: readonly Edge[], place: string): readonly Edge[] {
  return edges.filter(({ from, to }) => isAt(from, place) || isAt(to, place))
}

function isAt(name: string | undefined, place: string): boolean {
  return name === place || (!place.includes("/") && name?.startsWith(`${place}/`) === true)
}

/** Calls that no other proxy has told of: to something without one, out of the mesh, or without an answer. */
export function unseenByOthers(
  destinations: readonly Destination[],
  place: string | undefined,
): readonly Destination[] {
  return destinations.filter(
    ({ workload, to, place: where, failures }) =>
      (where !== "mesh" || failures > 0) && (place === undefined || [workload, to].some(name => isAt(name, place))),
  )
}

/** Those called most first. */
export function placesIn(edges: readonly Edge[]): readonly { readonly place: string; readonly calls: number }[] {
  const calls = new Map<string, number>()
  for (const { to, allowed, refused } of edges) calls.set(to, (calls.get(to) ?? 0) + allowed + refused)
  return [...calls].map(([place, sum]) => ({ place, calls: sum })).sort((a, b) => b.calls - a.calls)
}
