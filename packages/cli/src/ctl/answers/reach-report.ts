// SPDX-License-Identifier: Apache-2.0
// Ways through, for programs and for people.

import { type ProofWorkload, type Reach, ruleWords } from "@merlon/policy"
import { Columns } from "../output/columns.js"
import { callLine } from "./call-line.js"

export interface ReachedWorkload {
  readonly workload: ProofWorkload
  readonly reach: Reach
}

export function reachJson(reached: readonly ReachedWorkload[], all: readonly ProofWorkload[]): object {
  return {
    result: reached.some(({ reach }) => reach.undecided !== undefined) ? "undecided" : "proved",
    ways: reached.flatMap(({ workload, reach }) =>
      reach.ways.map(({ rule, callers, requests, limits, witness }) => ({
        workload: `${workload.namespace}/${workload.name}`,
        callers,
        requests,
        limits,
        ...(rule === undefined ? {} : { policy: `${rule.policy.namespace}/${rule.policy.name}`, rule: rule.rule }),
        witness: { ...witness, call: callLine(witness, all) },
      })),
    ),
    undecided: reached.flatMap(({ workload, reach: { undecided } }) =>
      undecided === undefined ? [] : [{ workload: `${workload.namespace}/${workload.name}`, reason: undecided }],
    ),
  }
}

/** One line per way; `column` is what the question is about. */
export function reachText(reached: readonly ReachedWorkload[], column: "callers" | "requests", nobody: string): string {
  const rows = reached.flatMap(({ workload, reach }) =>
    reach.ways.map(way => [
      ...(column === "requests" ? [`${workload.namespace}/${workload.name}`] : []),
      way[column],
      column === "callers" ? way.requests : way.callers,
      way.limits.join(", ") || "-",
      way.rule === undefined ? "no ALLOW policy applies" : ruleWords(way.rule),
    ]),
  )
  const head =
    column === "callers" ? ["CALLERS", "REQUESTS", "LIMITS", "BY"] : ["WORKLOAD", "REQUESTS", "AS", "LIMITS", "BY"]
  const undecided = reached.flatMap(({ workload, reach }) =>
    reach.undecided === undefined ? [] : [`not decided for ${workload.namespace}/${workload.name}: ${reach.undecided}`],
  )
  const table = rows.length === 0 ? [nobody] : [new Columns().format([head, ...rows]).trimEnd()]
  const end = undecided.length > 0 ? undecided : rows.length === 0 ? [] : ["", "and nothing else (proved)"]
  return [...table, ...end].join("\n")
}
