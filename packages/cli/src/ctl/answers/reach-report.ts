// SPDX-License-Identifier: Apache-2.0
// Reachable ways (ranges of requests that are allowed) as JSON and as text.

import { type ProofWorkload, type Reach, ruleWords } from "@merlon/policy/proof"
import { Columns } from "../output/columns.js"
import { callLine } from "./call-line.js"
import { type Inputs, inputLines, isComplete, NOT_ALL_READ } from "./inputs.js"
import type { QuestionSource } from "./question-source.js"

export interface ReachedWorkload {
  readonly workload: ProofWorkload
  readonly reach: Reach
}

/** Whether the answer is proved for every workload that was asked about. */
export function isProved(reached: readonly ReachedWorkload[], read: Inputs): boolean {
  return isComplete(read) && reached.length > 0 && reached.every(({ reach }) => reach.undecided === undefined)
}

export function reachJson(
  reached: readonly ReachedWorkload[],
  { workloads, mesh, read }: Pick<QuestionSource, "workloads" | "mesh" | "read">,
): object {
  return {
    result: isProved(reached, read) ? "proved" : "undecided",
    ways: reached.flatMap(({ workload, reach }) =>
      reach.ways.map(({ rule, callers, requests, limits, providers, witness }) => ({
        workload: `${workload.namespace}/${workload.name}`,
        callers,
        requests,
        limits,
        ...(providers.length > 0 && { providers }),
        ...(rule === undefined ? {} : { policy: `${rule.policy.namespace}/${rule.policy.name}`, rule: rule.rule }),
        witness: { ...witness, call: callLine(witness, workloads, mesh.names) },
      })),
    ),
    undecided: reached.flatMap(({ workload, reach: { undecided } }) =>
      undecided === undefined ? [] : [{ workload: `${workload.namespace}/${workload.name}`, reason: undecided }],
    ),
    read,
  }
}

/** One line per way. `column` is the heading for the subject of the question. */
export function reachText(
  reached: readonly ReachedWorkload[],
  column: "callers" | "requests",
  nobody: string,
  read: Inputs,
): string {
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
  const proved = isProved(reached, read)
  const none = proved ? `${nobody} (proved)` : "no allowed request was found"
  const table = rows.length === 0 ? [none] : [new Columns().format([head, ...rows]).trimEnd()]
  const end = proved
    ? rows.length === 0
      ? []
      : ["", "and nothing else (proved)"]
    : undecided.length > 0
      ? undecided
      : [`not decided: ${reached.length === 0 ? "there is no workload" : NOT_ALL_READ}`]
  return [...table, ...end, ...inputLines(read)].join("\n")
}
