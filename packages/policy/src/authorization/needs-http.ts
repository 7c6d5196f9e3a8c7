// SPDX-License-Identifier: Apache-2.0
// Whether an enforced policy of a port can only be judged on HTTP requests: traffic that is not HTTP would bypass it
// there. Rules for other ports and policies in shadow mode do not count.

import type { Program } from "../program.js"
import type { Clause } from "./criterion.js"
import type { CompiledRule } from "./rule.js"

const KNOWN = new WeakMap<Program, Map<number, boolean>>()

/** Computed once per program and port. */
export function needsHttp(program: Program, destinationPort: number): boolean {
  let ports = KNOWN.get(program)
  if (ports === undefined) {
    ports = new Map()
    KNOWN.set(program, ports)
  }
  let needed = ports.get(destinationPort)
  if (needed === undefined) {
    needed = program.tokens.rules.length > 0 || rulesNeedHttp(program, destinationPort)
    ports.set(destinationPort, needed)
  }
  return needed
}

function rulesNeedHttp({ authorization }: Program, port: number): boolean {
  return authorization.httpPolicies.some(
    ({ shadow, rules }) => !shadow && rules.some(rule => ruleNeedsHttp(rule, port)),
  )
}

function ruleNeedsHttp({ from, to, when }: CompiledRule, port: number): boolean {
  const here = to.filter(clause => portHolds(clause, port))
  if ((to.length > 0 && here.length === 0) || !portHolds(when, port)) return false
  return [...from, ...here, when].some(clause => clause.some(({ attribute }) => attribute.httpOnly))
}

function portHolds(clause: Clause, port: number): boolean {
  return clause.every(
    ({ attribute, values, negated }) =>
      attribute.name !== "destination.port" || values.includes(String(port)) !== negated,
  )
}
