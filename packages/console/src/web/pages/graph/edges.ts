// SPDX-License-Identifier: Apache-2.0
// Who called whom, as edges, and which of them concern a place.

import type { SeenCall } from "../../api/answers.js"
import { cellsOf } from "../matrix/seen-matrix.js"

export interface Edge {
  readonly from: string
  readonly to: string
  readonly allowed: number
  readonly refused: number
  readonly plaintext: number
}

export function edgesOf(calls: readonly SeenCall[], callerOf: (call: SeenCall) => string): readonly Edge[] {
  return [...cellsOf(calls, callerOf).values()]
    .map(({ caller, workload, allowed, refused, plaintext }) => ({
      from: caller,
      to: workload,
      allowed,
      refused,
      plaintext,
    }))
    .sort((a, b) => (`${a.from} ${a.to}` < `${b.from} ${b.to}` ? -1 : 1))
}

/** Of a workload, or of all in a namespace. */
export function neighbours(edges: readonly Edge[], place: string): readonly Edge[] {
  const isThere = (name: string): boolean => name === place || (!place.includes("/") && name.startsWith(`${place}/`))
  return edges.filter(({ from, to }) => isThere(from) || isThere(to))
}

/** Those called most first. */
export function placesIn(edges: readonly Edge[]): readonly { readonly place: string; readonly calls: number }[] {
  const calls = new Map<string, number>()
  for (const { to, allowed, refused } of edges) calls.set(to, (calls.get(to) ?? 0) + allowed + refused)
  return [...calls].map(([place, sum]) => ({ place, calls: sum })).sort((a, b) => b.calls - a.calls)
}
