// SPDX-License-Identifier: Apache-2.0
// Analyzes a whole set of policies for problems that no single document shows: dead rules, orphans, traps. Findings are
// sorted by severity, then by document.

import type { MeshConfig } from "../mesh/config.js"
import type { PolicyDocument } from "../resources/document.js"
import { compareText } from "../selection/workload.js"
import { contradictions } from "./checks/contradiction.js"
import { allowsNothing, peerPrecedence, unselected } from "./checks/selection.js"
import { shadowing } from "./checks/shadowing.js"
import { closedSpellings } from "./checks/spellings.js"
import { statedSpellings } from "./checks/stated-spellings.js"
import { tokensMissing, tokensNotRequired, unknownIssuers } from "./checks/tokens.js"
import { anonymous, foreignTrustDomains, hostsWithoutPort, strayDashes, widensOnTcp } from "./checks/traps.js"
import { udpNotJudged } from "./checks/udp.js"
import type { AnalysisFinding, Severity } from "./finding.js"
import { type KnownWorkload, PolicySet } from "./policy-set.js"
import { DEFAULT_STEPS, finish, type Steps, Work } from "./work.js"

const CHECKS: readonly ((set: PolicySet, work: Work) => Steps<readonly AnalysisFinding[]>)[] = [
  (set, work) => set.layOut(work),
  tokensMissing,
  contradictions,
  unselected,
  shadowing,
  unknownIssuers,
  foreignTrustDomains,
  anonymous,
  widensOnTcp,
  closedSpellings,
  statedSpellings,
  strayDashes,
  peerPrecedence,
  hostsWithoutPort,
  allowsNothing,
  tokensNotRequired,
  udpNotJudged,
]

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

export interface AnalysisOptions {
  /** Without workloads, the checks that need them are skipped. */
  readonly workloads?: readonly KnownWorkload[] | undefined
  /** The budget of each check; a check that exhausts it adds a finding `analysis-limited`. */
  readonly steps?: number | undefined
}

/** The analysis in steps of about a millisecond, between which the caller may do other work or stop. */
export function* analysis(
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  { workloads, steps = DEFAULT_STEPS }: AnalysisOptions = {},
): Steps<readonly AnalysisFinding[]> {
  const set = new PolicySet(documents, mesh, workloads)
  const found: AnalysisFinding[] = []
  for (const check of CHECKS) {
    found.push(...(yield* check(set, new Work(steps))))
    yield
  }
  return found.sort(
    (a, b) =>
      RANK[a.severity] - RANK[b.severity] ||
      compareText(a.namespace, b.namespace) ||
      compareText(a.name, b.name) ||
      compareText(a.path, b.path),
  )
}

/** Runs the whole analysis at once, for callers that have no other work. */
export function analyze(
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  workloads?: readonly KnownWorkload[],
  steps?: number,
): readonly AnalysisFinding[] {
  return finish(analysis(documents, mesh, { workloads, steps }))
}
