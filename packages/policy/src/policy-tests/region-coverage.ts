// SPDX-License-Identifier: Apache-2.0
// Which regions of the decision the cases of a test file cover, and an example request for each region that none covers.

import { type MeshConfig, meshConfig } from "../mesh/config.js"
import { DocumentsByNamespace } from "../proof/selected.js"
import type { PolicyDocument } from "../resources/document.js"
import type { Workload } from "../selection/workload.js"
import type { DescribedRequest } from "../trial/described-request.js"
import { type Answer, Trial } from "../trial/trial.js"
import { exampleOf } from "./region-example.js"
import { isWithin, type Region, regionsOf } from "./regions.js"
import type { TestRun } from "./run-tests.js"
import type { PolicyTestFile } from "./test-file.js"

export interface RegionCoverage {
  readonly region: Region
  readonly workload: Workload
  /** The number of cases in the region. */
  readonly touched: number
  /** An example request if no case covers the region; absent if none was found, and there may be none. */
  readonly example: { readonly request: DescribedRequest; readonly answer: Answer } | undefined
}

/**
 * The number of example requests searched for a file, each by a proof. Further regions count as if they had no request.
 */
const MAX_SEARCHED = 300

/** `now` in seconds since the epoch. Regions without a known request are not included. */
export function regionCoverage(
  file: Pick<PolicyTestFile, "workloads" | "mesh">,
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  now: number,
  { results }: Pick<TestRun, "results">,
): readonly RegionCoverage[] {
  const config = meshConfig({ ...mesh, ...file.mesh, names: mesh.names })
  const byNamespace = new DocumentsByNamespace(documents, config)
  const found = new Map<string, RegionCoverage>()
  let searched = 0
  for (const workload of file.workloads.values()) {
    const own = byNamespace.selected(workload).documents
    const trial = new Trial(own, workload, config, now)
    const answers = results.flatMap(({ workload: to, answer }) => (to === workload && answer ? [answer] : []))
    for (const region of regionsOf(own, trial, config)) {
      const touched = answers.filter(answer => isWithin(region, answer)).length
      const known = found.get(region.id)
      const together = touched + (known?.touched ?? 0)
      if (together > 0) found.set(region.id, { region, workload, touched: together, example: undefined })
      else if (known === undefined && searched++ < MAX_SEARCHED) {
        const request = exampleOf(region, { documents: own, workload, mesh: config, trial, now })
        if (request === undefined) continue
        found.set(region.id, { region, workload, touched: 0, example: { request, answer: trial.ask(request) } })
      }
    }
  }
  return [...found.values()]
}
