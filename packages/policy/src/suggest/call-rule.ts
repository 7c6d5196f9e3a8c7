// SPDX-License-Identifier: Apache-2.0
// Turns observed calls into the fewest equivalent rules. Merging never adds a request that was not observed: callers
// share a rule only if all of them made the same calls, and methods share one only for the same paths.

import type { ObservedCall } from "../ledger/call.js"
import type { Rule, Source } from "../resources/authorization-policy/definition.js"
import { compareText } from "../selection/workload.js"

/** The rule that allows calls of this shape; undefined if no rule can identify the caller. */
export function ruleOf(call: ObservedCall): Rule | undefined {
  const [who, what] = [callerOf(call), operationOf(call)]
  if (who === undefined || what === undefined) return undefined
  const { ports, methods, paths } = what
  const http = call.protocol === "http" ? { methods: [...methods], paths: [...paths] } : {}
  return { from: [{ source: sourceOf([who]) }], to: [{ operation: { ports: [...ports], ...http } }] }
}

/** The caller: an identity or an address, with the issuer of the token. */
interface Caller {
  readonly principal: string | undefined
  readonly address: string | undefined
  readonly issuer: string | undefined
}

interface Operations {
  readonly ports: readonly string[]
  /** Empty for TCP, like the paths. */
  readonly methods: readonly string[]
  readonly paths: readonly string[]
}

function callerOf({ caller, address, issuer }: ObservedCall): Caller | undefined {
  if (caller === undefined && (address === undefined || address === "*")) return undefined
  return { principal: caller?.replace(/^spiffe:\/\//, ""), address: caller === undefined ? address : undefined, issuer }
}

function operationOf({ port, protocol, method, path }: ObservedCall): Operations | undefined {
  const ports = [String(port)]
  if (protocol === "tcp") return { ports, methods: [], paths: [] }
  return method === undefined || path === undefined ? undefined : { ports, methods: [method], paths: [path] }
}

function sourceOf(callers: readonly Caller[]): Source {
  const [first] = callers
  const of = <T>(values: readonly (T | undefined)[]): T[] => [...new Set(values.flatMap(value => value ?? []))] as T[] // flat: no T is a list
  const principals = of(callers.map(({ principal }) => principal)).sort()
  const addresses = of(callers.map(({ address }) => address)).sort()
  return {
    ...(principals.length > 0 ? { principals } : { notPrincipals: ["*"], ipBlocks: addresses }),
    ...(first?.issuer === undefined ? {} : { requestPrincipals: [`${first.issuer}/*`] }),
  }
}

/** The fewest rules with the same meaning. Calls by unknown callers are left out. */
export function rulesOf(calls: readonly ObservedCall[]): readonly Rule[] {
  const byCaller = new Map<string, { readonly caller: Caller; readonly did: Operations[] }>()
  for (const call of calls) {
    const [caller, did] = [callerOf(call), operationOf(call)]
    if (caller === undefined || did === undefined) continue
    // A rule with HTTP fields allows no TCP connection, so TCP calls have rules of their own.
    const key = JSON.stringify([call.protocol, caller.principal, caller.address, caller.issuer])
    const known = byCaller.get(key)
    if (known === undefined) byCaller.set(key, { caller, did: [did] })
    else known.did.push(did)
  }
  const byDeeds = new Map<string, { readonly callers: Caller[]; readonly operations: readonly Operations[] }>()
  for (const { caller, did } of byCaller.values()) {
    const operations = merged(did)
    const kind = caller.principal === undefined ? "address" : "identity"
    const key = JSON.stringify([kind, caller.issuer, operations])
    const known = byDeeds.get(key)
    if (known === undefined) byDeeds.set(key, { callers: [caller], operations })
    else known.callers.push(caller)
  }
  const rules = [...byDeeds.values()].map(
    ({ callers, operations }): Rule => ({
      from: [{ source: sourceOf(callers) }],
      to: operations.map(({ ports, methods, paths }) => ({
        operation: { ports: [...ports], ...(methods.length > 0 ? { methods: [...methods], paths: [...paths] } : {}) },
      })),
    }),
  )
  return rules.sort((a, b) => compareText(JSON.stringify(a.from), JSON.stringify(b.from)))
}

/** Merges paths with the same methods, then ports with the same methods and paths. */
function merged(did: readonly Operations[]): readonly Operations[] {
  const byPath = grouped(
    did,
    ({ ports, paths }) => [ports, paths],
    all => ({
      ports: all[0]?.ports ?? [],
      methods: unique(all.flatMap(({ methods }) => methods)),
      paths: all[0]?.paths ?? [],
    }),
  )
  const byMethods = grouped(
    byPath,
    ({ ports, methods }) => [ports, methods],
    all => ({
      ports: all[0]?.ports ?? [],
      methods: all[0]?.methods ?? [],
      paths: unique(all.flatMap(({ paths }) => paths)),
    }),
  )
  const byBoth = grouped(
    byMethods,
    ({ methods, paths }) => [methods, paths],
    all => ({
      ports: unique(all.flatMap(({ ports }) => ports)),
      methods: all[0]?.methods ?? [],
      paths: all[0]?.paths ?? [],
    }),
  )
  return [...byBoth].sort((a, b) => compareText(JSON.stringify(a), JSON.stringify(b)))
}

function grouped(
  all: readonly Operations[],
  keyOf: (one: Operations) => unknown,
  merge: (alike: readonly Operations[]) => Operations,
): readonly Operations[] {
  const groups = new Map<string, Operations[]>()
  for (const one of all) {
    const key = JSON.stringify(keyOf(one))
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [one])
    else known.push(one)
  }
  return [...groups.values()].map(merge)
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)].sort()
