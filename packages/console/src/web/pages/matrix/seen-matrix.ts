// SPDX-License-Identifier: Apache-2.0
// Recorded calls summed up by caller and workload.

import type { ObservedCall } from "../../api/answers.js"
import { causeOf, principalOf } from "../../ui/names.js"

export interface Cell {
  readonly caller: string
  readonly workload: string
  /** The caller's whole identity; undefined for plaintext callers. */
  readonly principal?: string
  readonly allowed: number
  readonly denied: number
  readonly plaintext: number
  /** The times of the last plaintext call and of the last mTLS call; empty if there was none. */
  readonly lastPlaintext: string
  readonly lastMtls: string
  /** How many calls each rule, or each stage without a rule, decided. */
  readonly rules: ReadonlyMap<string, number>
}

/** The cells of the table, by `caller workload`. */
export function cellsOf(
  calls: readonly ObservedCall[],
  callerOf: (call: ObservedCall) => string,
): ReadonlyMap<string, Cell> {
  const cells = new Map<string, Cell>()
  for (const call of calls) {
    const caller = callerOf(call)
    const key = `${caller} ${call.workload}`
    const known = cells.get(key)
    const rule = causeOf(call)
    const rules = new Map(known?.rules)
    rules.set(rule, (rules.get(rule) ?? 0) + call.count)
    cells.set(key, {
      caller,
      workload: call.workload,
      ...(call.caller === undefined ? {} : { principal: principalOf(call.caller) }),
      allowed: (known?.allowed ?? 0) + (call.verdict === "allow" ? call.count : 0),
      denied: (known?.denied ?? 0) + (call.verdict === "allow" ? 0 : call.count),
      plaintext: (known?.plaintext ?? 0) + (call.tls ? 0 : call.count),
      lastPlaintext: later(known?.lastPlaintext, call.tls ? "" : call.lastSeen),
      lastMtls: later(known?.lastMtls, call.tls ? call.lastSeen : ""),
      rules,
    })
  }
  return cells
}

/** The later of two times; empty means none. Times of the same format sort as strings. */
function later(one = "", other = ""): string {
  return one < other ? other : one
}
