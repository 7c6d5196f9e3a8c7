// SPDX-License-Identifier: Apache-2.0
// Policies that close a workload whose UDP ports stay open: proxies carry TCP, so neither STRICT nor an ALLOW policy judges UDP.

import type { AuthorizationPolicy, PeerAuthentication } from "../../resources/document.js"
import { isShadow } from "../../selection/shadow.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import type { PolicySet } from "../policy-set.js"
import { each, limited, type Steps, type Work } from "../work.js"
import { reachCost } from "./selection.js"

type Closing = AuthorizationPolicy | PeerAuthentication

export function udpNotJudged(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const closing: readonly Closing[] = [
    ...set.peerAuthentications.filter(({ spec }) => spec.mtls?.mode === "STRICT"),
    ...set.authorizationPolicies.filter(({ spec }) => (spec.action ?? "ALLOW") === "ALLOW"),
  ].filter(policy => !isShadow(policy, set.mesh))
  const look = (policy: Closing): readonly AnalysisFinding[] => {
    const open = set.reached(set.scopeOf(policy)).find(({ udpPorts = [] }) => udpPorts.length > 0)
    if (open === undefined) return []
    const why = `\`${open.namespace}/${open.name}\` takes UDP at ${(open.udpPorts ?? []).join(", ")}, which no policy judges`
    const byMesh = set.mesh.dialect === "istio" ? "" : "deny UDP in the mesh (`--udp refuse`), or "
    const fix = `${byMesh}restrict it with a NetworkPolicy`
    return [analysisFinding("udp-not-judged", policy, "spec", why, fix)]
  }
  const cost = (policy: Closing): number => reachCost(set, set.scopeOf(policy))
  return each(closing, work, { cost, place: policy => limited(policy, "spec"), look })
}
