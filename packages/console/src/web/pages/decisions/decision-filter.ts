// SPDX-License-Identifier: Apache-2.0
// The filters in the address: `verdict`, `workload`, `caller`, `policy` and `path`, each with a `not-` form. `*` matches any
// text. The answers API takes the same parameters and filters the stream.

export const TRAITS = ["verdict", "workload", "caller", "policy", "path"] as const
export type Trait = (typeof TRAITS)[number]

export interface Wanted {
  readonly trait: Trait
  readonly not: boolean
  readonly pattern: string
}

export function wantedIn(search: URLSearchParams): readonly Wanted[] {
  return TRAITS.flatMap(trait => [
    ...search.getAll(trait).map(pattern => ({ trait, not: false, pattern })),
    ...search.getAll(`not-${trait}`).map(pattern => ({ trait, not: true, pattern })),
  ]).filter(({ pattern }) => pattern !== "")
}

export function queryOf(wanted: readonly Wanted[]): string {
  return new URLSearchParams(wanted.map(one => [nameOf(one), one.pattern])).toString()
}

export function add(search: URLSearchParams, wanted: Wanted): void {
  const name = nameOf(wanted)
  if (wanted.pattern !== "" && !search.getAll(name).includes(wanted.pattern)) search.append(name, wanted.pattern)
}

export function remove(search: URLSearchParams, wanted: Wanted): void {
  const name = nameOf(wanted)
  const rest = search.getAll(name).filter(pattern => pattern !== wanted.pattern)
  search.delete(name)
  for (const pattern of rest) search.append(name, pattern)
}

function nameOf({ trait, not }: Wanted): string {
  return not ? `not-${trait}` : trait
}
