// SPDX-License-Identifier: Apache-2.0
// Finds the callers that a change of PeerAuthentications would cut off: callers observed in plaintext on ports that
// would become STRICT. A proof cannot show that, since it considers every possible caller.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import { DocumentsByNamespace, type PolicyStep } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { PeerModes } from "@merlon/policy/selection"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { type PlaintextCaller, plaintextIn } from "./readiness.js"
import { workloadName } from "./workload-names.js"

export interface CutOffSources {
  /** All stored policies. */
  readonly documents: readonly PolicyDocument[]
  readonly workloads: Iterable<MeshWorkload>
  readonly calls: readonly ObservedCall[]
  readonly mesh: MeshConfig
  /** In milliseconds: callers last seen before this are not expected to call again. */
  readonly since: number
}

export interface CutOff {
  /** `namespace/name`. */
  readonly workload: string
  /** Last seen first. */
  readonly callers: readonly PlaintextCaller[]
}

export function cutOff({ before, after }: Omit<PolicyStep, "documents">, sources: CutOffSources): readonly CutOff[] {
  const { documents, workloads, calls, mesh, since } = sources
  if (before?.kind !== "PeerAuthentication" && after?.kind !== "PeerAuthentication") return []
  const others = documents.filter(
    document => document.kind === "PeerAuthentication" && !isSame(document, before) && !isSame(document, after),
  )
  const [was, is] = [before, after].map(
    one => new DocumentsByNamespace(one === undefined ? others : [...others, one], mesh),
  )
  const seen = plaintextCalls(calls, since)
  const cut = new Map<string, readonly PlaintextCaller[]>()
  for (const workload of workloads) {
    const name = workloadName(workload)
    const called = seen.get(name)
    // Pods of one workload have the same labels, except during a rollout: the first Pod that is cut off counts.
    if (called === undefined || was === undefined || is === undefined || cut.has(name)) continue
    const modesBefore = new PeerModes(was.selected(workload).documents, workload, mesh)
    const modesAfter = new PeerModes(is.selected(workload).documents, workload, mesh)
    const lost = called.filter(
      ({ port }) => wouldBe(modesBefore, port) !== "STRICT" && wouldBe(modesAfter, port) === "STRICT",
    )
    if (lost.length > 0) cut.set(name, plaintextIn(lost))
  }
  return [...cut].map(([workload, callers]) => ({ workload, callers }))
}

/**
 * The mode if shadow policies were enforced: users who try STRICT in shadow mode want the warning before they enforce
 * it.
 */
function wouldBe(modes: PeerModes, port: number): string {
  const { mode, shadow } = modes.resolve(port)
  return shadow ?? mode
}

function plaintextCalls(calls: readonly ObservedCall[], since: number): ReadonlyMap<string, readonly ObservedCall[]> {
  const found = new Map<string, ObservedCall[]>()
  for (const call of calls) {
    if (call.tls || call.verdict === "deny" || call.lastSeen < since) continue
    const of = found.get(call.workload)
    if (of === undefined) found.set(call.workload, [call])
    else of.push(call)
  }
  return found
}

function isSame(a: PolicyDocument, b: PolicyDocument | undefined): boolean {
  return b !== undefined && a.metadata.namespace === b.metadata.namespace && a.metadata.name === b.metadata.name
}

const MAX_WORKLOADS = 3
const MAX_CALLERS = 2

/** Sentences that are short enough for an admission warning. */
export function cutOffWarnings(found: readonly CutOff[]): readonly string[] {
  const described = found.slice(0, MAX_WORKLOADS).map(({ workload, callers }) => {
    const shown = callers
      .slice(0, MAX_CALLERS)
      .map(
        ({ from, port, count, lastSeen }) =>
          `\`${from}\` on port ${port} (${count} ${count === 1 ? "call" : "calls"}, last ${lastSeen.slice(0, 19)}Z)`,
      )
    const more = callers.length - shown.length
    const list = more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${more} more`
    return `this will block plaintext callers of \`${workload}\`: ${list}; see \`merlonctl mtls ready\``
  })
  const left = found.length - described.length
  return left === 0
    ? described
    : [...described, `and plaintext callers of ${left} more ${left === 1 ? "workload" : "workloads"}`]
}
