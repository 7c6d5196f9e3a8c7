// SPDX-License-Identifier: Apache-2.0
// Looks at a whole set of policies for what no single document shows: dead rules, orphans, traps. Findings come worst
// first, then by document.

import type { MeshConfig } from "../mesh/config.js"
import type { PolicyDocument } from "../resources/document.js"
import { compareText } from "../selection/workload.js"
import { contradictions } from "./checks/contradiction.js"
import { allowsNothing, peerPrecedence, unselected } from "./checks/selection.js"
import { shadowing } from "./checks/shadowing.js"
import { tokensMissing, tokensNotRequired, unknownIssuers } from "./checks/tokens.js"
import { anonymous, foreignTrustDomains, hostsWithoutPort, strayDashes, widensOnTcp } from "./checks/traps.js"
import type { AnalysisFinding, Severity } from "./finding.js"
import { type KnownWorkload, PolicySet } from "./policy-set.js"

const CHECKS: readonly ((set: PolicySet) => readonly AnalysisFinding[])[] = [
  tokensMissing,
  contradictions,
  unselected,
  shadowing,
  unknownIssuers,
  foreignTrustDomains,
  anonymous,
  widensOnTcp,
  strayDashes,
  peerPrecedence,
  hostsWithoutPort,
  allowsNothing,
  tokensNotRequired,
]

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

/** Without `workloads` the checks that need to know what runs are left out. */
export function analyze(
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  workloads?: readonly KnownWorkload[],
): readonly AnalysisFinding[] {
  const set = new PolicySet(documents, mesh, workloads)
  return CHECKS.flatMap(check => check(set)).sort(
    (a, b) =>
      RANK[a.severity] - RANK[b.severity] ||
      compareText(a.namespace, b.namespace) ||
      compareText(a.name, b.name) ||
      compareText(a.path, b.path),
  )
}
