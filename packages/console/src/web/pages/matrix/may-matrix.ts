// SPDX-License-Identifier: Apache-2.0
// The proved access of identities for the table of recorded calls: one row per identity, one column per workload.

import type { Ways } from "../../api/answers.js"
import type { Cell } from "./seen-matrix.js"

/** Principals of identities, as queries contain them, by the names that the page shows. */
export type Identities = ReadonlyMap<string, string>

/** Whether all requests are allowed, some, or none. Undefined if that is not proved. */
export type Access = "all" | "some" | "none" | undefined

/** The identities of running workloads and of recorded callers. */
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

/** The condition "over mutual TLS" does not limit an identity, which is authenticated by it. Every other condition does. */
function isUnlimited({ callers, requests, limits }: Ways["ways"][number]): boolean {
  return requests === "any request" && !callers.includes(" with ") && limits.every(limit => limit === "over mutual TLS")
}

/** Proofs name Pods, recorded calls name the Pods' owners. */
export function isOf(pod: string, workload: string): boolean {
  return pod === workload || pod.startsWith(`${workload}-`)
}
