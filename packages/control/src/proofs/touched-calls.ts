// SPDX-License-Identifier: Apache-2.0
// Finds the recorded calls that a policy change would decide differently: each shape is evaluated before and after the
// change with an example. A shape has no headers and only the issuer of a token, so this reports what was observed,
// while a proof reports what is possible.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import { lastingName, type ProofWorkload } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { type DescribedRequest, RequestDescriptionError, Trial } from "@merlon/policy/trial"

export interface TouchedCall {
  readonly caller: string
  readonly workload: string
  readonly method: string
  readonly path: string
  readonly count: number
  readonly from: "allow" | "deny"
  readonly to: "allow" | "deny"
}

export interface TouchedCalls {
  /** Number of calls in `shapes` and in further shapes that are not listed. */
  readonly calls: number
  readonly shapes: readonly TouchedCall[]
  /** Number of shapes that were not tried because time was up. Nothing is known about them. */
  readonly untried: number
}

export interface Change {
  readonly before: readonly PolicyDocument[]
  readonly after: readonly PolicyDocument[]
  readonly mesh: MeshConfig
  /** Seconds since the epoch. */
  readonly now: number
  readonly isEnded: () => boolean
}

const MOST = 20

/** `workloads` are those that decide some request differently. The most frequent calls come first. */
export function touchedCalls(
  calls: readonly ObservedCall[],
  workloads: readonly ProofWorkload[],
  { before, after, mesh, now, isEnded }: Change,
): TouchedCalls {
  const found: TouchedCall[] = []
  let untried = 0
  const trials = new Map<string, readonly [Trial, Trial]>()
  const byName = new Map(workloads.map(workload => [lastingName(workload), workload]))
  for (const call of [...calls].sort((a, b) => b.count - a.count)) {
    const called = byName.get(call.workload)
    if (called === undefined) continue
    if (isEnded()) {
      untried++
      continue
    }
    const pair = trials.get(call.workload) ?? [
      new Trial(before, called, mesh, now),
      new Trial(after, called, mesh, now),
    ]
    trials.set(call.workload, pair)
    const [then, next] = pair
    const [from, to] = [verdictOf(then, call), verdictOf(next, call)]
    if (from === undefined || to === undefined || from === to) continue
    const { caller, address = "somebody", workload, method = "TCP", path = "", count } = call
    found.push({ caller: caller ?? address, workload, method, path, count, from, to })
  }
  return { calls: found.reduce((sum, { count }) => sum + count, 0), shapes: found.slice(0, MOST), untried }
}

/** Undefined if the shape is not a valid request. */
function verdictOf(trial: Trial, call: ObservedCall): "allow" | "deny" | undefined {
  try {
    const { verdict } = trial.ask(exampleOf(call))
    // A verdict that depends on a provider does not count as allowed.
    return verdict === "allow" ? "allow" : "deny"
  } catch (error) {
    if (error instanceof RequestDescriptionError) return undefined
    throw error
  }
}

function exampleOf({ caller, address, port, protocol, method, path = "/", issuer }: ObservedCall): DescribedRequest {
  return {
    ...(caller === undefined ? {} : { from: caller }),
    ...(address === undefined || address === "*" ? {} : { ip: address }),
    port,
    protocol,
    ...(protocol === "tcp" ? {} : { method: method ?? "GET", path: path.replace(/\{\*{1,2}\}/g, "x") }),
    ...(issuer === undefined ? {} : { token: { claims: { iss: issuer, sub: "someone" } } }),
  }
}
