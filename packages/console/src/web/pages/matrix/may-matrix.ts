// SPDX-License-Identifier: Apache-2.0
// What identities can do, proved, next to what they did: one row for each identity, one column for each workload.

import type { Ways } from "../../api/answers.js"
import type { Cell } from "./seen-matrix.js"

/** An identity as it is asked about, by the name under which it is shown. */
export type Identities = ReadonlyMap<string, string>

/** Whether every request is allowed, some are, or none is. Undefined if that is not proved. */
export type Access = "all" | "some" | "none" | undefined

/** Those of running workloads and of recorded callers. */
export function identitiesOf(
  accounts: readonly string[],
  cells: Iterable<Cell>,
  nameOf: (uri: string) => string,
): Identities {
  const principals = [...accounts, ...[...cells].flatMap(({ principal }) => principal ?? [])]
  return new Map([...new Set(principals)].sort().map(principal => [nameOf(principal), principal]))
}

export function accessOf(ways: Ways | undefined, workload: string): Access {
  if (ways === undefined) return undefined
  const own = ways.ways.filter(way => isOf(way.workload, workload))
  if (own.length > 0) return own.some(isUnlimited) ? "all" : "some"
  const isOpen = ways.result !== "proved" && ways.undecided.some(one => isOf(one.workload, workload))
  return isOpen ? undefined : "none"
}

/** An identity is shown by mutual TLS, so that is no limit of it. Every other condition is one. */
function isUnlimited({ callers, requests, limits }: Ways["ways"][number]): boolean {
  return requests === "any request" && !callers.includes(" with ") && limits.every(limit => limit === "over mutual TLS")
}

/** Proofs are about Pods, calls about their owners. */
export function isOf(pod: string, workload: string): boolean {
  return pod === workload || pod.startsWith(`${workload}-`)
}
