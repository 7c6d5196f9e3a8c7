// SPDX-License-Identifier: Apache-2.0
// Judges recorded calls by two sets of policies and counts how many a change affects. Each shape is judged by one example
// request, since tokens, headers and queries are not recorded, so the count is a lower bound.

import type { ObservedCall } from "../ledger/call.js"
import { ANY_REST, ANY_SEGMENT } from "../ledger/path-templates.js"
import type { MeshConfig } from "../mesh/config.js"
import type { Outcome } from "../proof/outcome.js"
import type { PolicyDocument } from "../resources/document.js"
import type { Workload } from "../selection/workload.js"
import type { DescribedRequest } from "./described-request.js"
import { type Answer, Trial } from "./trial.js"

export interface TouchedCalls {
  readonly from: Outcome
  readonly to: Outcome
  readonly shapes: number
  readonly calls: number
}

/** `calls` are those of this workload. */
export function touchedCalls(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workload: Workload,
  mesh: MeshConfig,
  calls: readonly ObservedCall[],
  now: number,
): readonly TouchedCalls[] {
  if (calls.length === 0) return []
  const [was, is] = [new Trial(before, workload, mesh, now), new Trial(after, workload, mesh, now)]
  const touched = new Map<string, TouchedCalls>()
  for (const call of calls) {
    const asked = askedOf(call)
    const [from, to] = [outcomeOf(was.ask(asked)), outcomeOf(is.ask(asked))]
    if (from === to) continue
    const known = touched.get(`${from} ${to}`)
    touched.set(`${from} ${to}`, {
      from,
      to,
      shapes: (known?.shapes ?? 0) + 1,
      calls: (known?.calls ?? 0) + call.count,
    })
  }
  return [...touched.values()]
}

function outcomeOf({ verdict, stage }: Answer): Outcome {
  if (verdict !== "deny") return verdict === "allow" ? "allow" : "custom"
  return stage === "token" ? "unauthenticated" : stage === "transport" ? "transport" : "deny"
}

function askedOf({ caller, address, port, protocol, method, path, issuer }: ObservedCall): DescribedRequest {
  return {
    ...(protocol === "tcp" ? { protocol } : {}),
    ...(caller === undefined ? {} : { from: caller.replace(/^spiffe:\/\//, "") }),
    ...(address === undefined || address === "*" ? {} : { ip: address }),
    port,
    ...(method === undefined || method === "*" ? {} : { method }),
    ...(path === undefined ? {} : { path: path.replaceAll(ANY_REST, "x").replaceAll(ANY_SEGMENT, "x") }),
    ...(issuer === undefined ? {} : { token: { claims: { iss: issuer, sub: "someone" } } }),
  }
}
