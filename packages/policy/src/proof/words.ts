// SPDX-License-Identifier: Apache-2.0
// Rules in words: `GET /admin/* from namespace ops`. Fields that a rule does not have are left out.

import type { Clause, Criterion } from "../authorization/criterion.js"
import type { CompiledRule, RuleRef } from "../authorization/rule.js"

const MAX_VALUES = 6

/** `protocol`: with `tcp`, only connections are meant. */
export function describeRule(rule: CompiledRule, protocol: "http" | "tcp" = "http"): string {
  return `${requestsOf(rule, protocol)} from ${callersOf(rule)}`
}

export function requestsOf({ to }: CompiledRule, protocol: "http" | "tcp"): string {
  return alternatives(to.map(operationWords), protocol === "tcp" ? "TCP connections" : "any request")
}

/** Includes the `when` conditions, which may be about callers or requests. */
export function callersOf({ from, when }: CompiledRule): string {
  return [alternatives(from.map(callerWords), "any caller"), ...when.map(criterionWords)].join(" ")
}

export function ruleWords({ policy, rule, alias }: RuleRef): string {
  if (alias !== undefined) return `\`${alias}\``
  return `rule ${rule} of \`${policy.namespace}/${policy.name}\``
}

function alternatives(described: readonly string[], otherwise: string): string {
  const words = described.map(text => (text === "" ? otherwise : text))
  if (words.length === 0 || words.includes(otherwise)) return otherwise
  return listed([...new Set(words)], " or ")
}

function operationWords(clause: Clause): string {
  const of = (name: string) => clause.filter(({ attribute }) => attribute.name === name)
  const methods = of("method").map(criterion => values(criterion, "any method but "))
  const paths = of("path").map(criterion => values(criterion, "any path but "))
  const hosts = of("host").map(criterion => `at host ${values(criterion, "other than ")}`)
  const ports = of("destination.port").map(criterion => `on port ${values(criterion, "other than ")}`)
  return [...methods, ...paths, ...hosts, ...ports].join(" ")
}

const CALLERS: { readonly [attribute: string]: readonly [is: string, isNot: string] } = {
  "source.principal": ["", "any caller but "],
  "source.namespace": ["namespace ", "any namespace but "],
  "source.serviceAccount": ["service account ", "any service account but "],
  "source.trustDomain": ["trust domain ", "any trust domain but "],
  "source.ip": ["address ", "any address but "],
  "remote.ip": ["client address ", "any client address but "],
}

function callerWords(clause: Clause): string {
  const who = clause.flatMap(criterion => {
    const words = Object.hasOwn(CALLERS, criterion.attribute.name) ? CALLERS[criterion.attribute.name] : undefined
    if (words === undefined) return []
    return [`${criterion.negated ? words[1] : words[0]}${listed(criterion.values, " or ")}`]
  })
  const tokens = clause.filter(({ attribute }) => attribute.name === "request.auth.principal").map(tokenWords)
  if (tokens.length === 0) return who.join(" and ")
  return [who.length === 0 ? "any caller" : who.join(" and "), ...tokens].join(" ")
}

function tokenWords({ negated, values }: Criterion): string {
  if (values.includes("*")) return negated ? "without a token" : "with a token"
  const owners = values.map(value => {
    const issuer = /^([^*]+)\/\*$/.exec(value)?.[1]
    return issuer === undefined ? value : `issuer ${issuer}`
  })
  return `${negated ? "without a token of" : "with a token of"} ${listed(owners, " or ")}`
}

function criterionWords(criterion: Criterion): string {
  return `where ${criterion.attribute.name} is ${values(criterion, "other than ")}`
}

function values(criterion: Criterion, not: string): string {
  return `${criterion.negated ? not : ""}${listed(criterion.values, " or ")}`
}

function listed(all: readonly string[], joint: string): string {
  const shown = all.slice(0, MAX_VALUES)
  const more = all.length - shown.length
  return `${shown.join(joint)}${more > 0 ? `${joint}${more} more` : ""}`
}
