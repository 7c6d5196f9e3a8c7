// SPDX-License-Identifier: Apache-2.0
// Finds an example request of a region by proof: it writes policies that allow exactly the requests of the region, finds
// one such request, and judges it with the real policies. INVARIANT: the returned request lies in the region.

import type { MeshConfig } from "../mesh/config.js"
import { compareSets } from "../proof/questions/compare.js"
import { reachOf } from "../proof/questions/reach.js"
import type { Witness } from "../proof/witness.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument } from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import type { Workload } from "../selection/workload.js"
import type { DescribedRequest } from "../trial/described-request.js"
import type { Trial } from "../trial/trial.js"
import { requestOfWitness } from "../trial/witness-request.js"
import { actionOf, isPolicy, isWithin, type Region } from "./regions.js"

export interface Place {
  /** The documents that concern the workload. */
  readonly documents: readonly PolicyDocument[]
  readonly workload: Workload
  readonly mesh: MeshConfig
  readonly trial: Trial
  /** Seconds since the epoch. */
  readonly now: number
}

/** A limit on steps rather than time, so that the same tests lack the same cases on every machine. */
const LIMITS = { steps: 200_000 }

/** Undefined if there is none, or none was found within the limits. */
export function exampleOf(region: Region, place: Place): DescribedRequest | undefined {
  for (const witness of witnesses(region, place)) {
    const request = requestOfWitness(witness)
    if (isWithin(region, place.trial.ask(request))) return request
  }
  return undefined
}

function witnesses({ of }: Region, { documents, workload, mesh, now }: Place): readonly Witness[] {
  const options = { limits: LIMITS, now }
  if (of.kind === "stage" && (of.stage === "transport" || of.stage === "token")) {
    const [kind, outcome] =
      of.stage === "transport"
        ? (["PeerAuthentication", "transport"] as const)
        : (["RequestAuthentication", "unauthenticated"] as const)
    const others = documents.filter(document => document.kind !== kind)
    const { changes } = compareSets(documents, others, workload, mesh, options)
    return changes.flatMap(({ from, witness }) => (from === outcome ? [witness] : []))
  }
  const enforced = documents.filter(document => !isPolicy(document) || !isShadow(document, mesh))
  const { ways } = reachOf(lettingThrough(of, enforced, workload), workload, mesh, {}, options)
  return ways.map(({ witness }) => witness)
}

/** Policies that allow the requests of the region and, as far as policies can express it, no others. */
function lettingThrough(of: Region["of"], documents: readonly PolicyDocument[], workload: Workload): PolicyDocument[] {
  const before = documents.filter(document => !isPolicy(document))
  const policies = documents.filter(isPolicy)
  const denies = policies.filter(policy => actionOf(policy) === "DENY")
  const allowed = policies.filter(policy => actionOf(policy) === "ALLOW").flatMap(({ spec }) => spec.rules ?? [])
  const closed = allowed.length === 0 ? [] : [written("closed", "DENY", allowed, workload)]
  const open = (rule: Rule): AuthorizationPolicy => written("open", "ALLOW", [rule], workload)
  if (of.kind === "stage") return [...before, ...denies, ...closed, open({})]
  if (of.kind === "beside") return [...before, ...denies, ...(of.action === "ALLOW" ? closed : []), open(of.reduced)]
  return [...before, ...(of.action === "ALLOW" ? denies : []), open(of.reduced)]
}

function written(
  name: string,
  action: "ALLOW" | "DENY",
  rules: readonly Rule[],
  { namespace }: Workload,
): AuthorizationPolicy {
  return {
    apiVersion: "",
    kind: "AuthorizationPolicy",
    metadata: { name, namespace },
    spec: { action, rules: [...rules] },
  }
}
