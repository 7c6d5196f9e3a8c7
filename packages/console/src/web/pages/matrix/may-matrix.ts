// SPDX-License-Identifier: Apache-2.0
// What identities may do by proof, beside what they were seen to do: one row for each identity, one column for each workload.

import type { Ways } from "../../api/answers.js"
import type { Cell } from "./seen-matrix.js"

/** An identity as it is asked about, by the name under which it is shown. */
export type Identities = ReadonlyMap<string, string>

/** `may` where some request gets through, `may not` where none does; undefined where that is not proved. */
export type May = "may" | "may not" | undefined

/** Those that run and those that were seen to call. */
export function identitiesOf(
  accounts: readonly string[],
  cells: Iterable<Cell>,
  nameOf: (uri: string) => string,
): Identities {
  const principals = [...accounts, ...[...cells].flatMap(({ principal }) => principal ?? [])]
  return new Map([...new Set(principals)].sort().map(principal => [nameOf(principal), principal]))
}

export function mayCall(ways: Ways | undefined, workload: string): May {
  if (ways === undefined) return undefined
  if (ways.ways.some(way => isOf(way.workload, workload))) return "may"
  const isOpen = ways.result !== "proved" && ways.undecided.some(one => isOf(one.workload, workload))
  return isOpen ? undefined : "may not"
}

/** Proofs are about Pods, calls about what runs them. */
export function isOf(pod: string, workload: string): boolean {
  return pod === workload || pod.startsWith(`${workload}-`)
}
