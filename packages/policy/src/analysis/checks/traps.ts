// SPDX-License-Identifier: Apache-2.0
// Finds rules whose effect is likely not what their author meant: `not` fields that admit anonymous callers, DENY rules
// that also deny TCP, hosts without a port, an extra dash, and principals of a foreign trust domain.

import type { Clause, Criterion } from "../../authorization/criterion.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import { type AnalysisFinding, analysisFinding } from "../finding.js"
import type { AnalysedRule, PolicySet } from "../policy-set.js"
import { each, limited, type Steps, type Work } from "../work.js"

/** Checks every rule separately. */
function eachRule(set: PolicySet, work: Work, look: (rule: AnalysedRule) => readonly AnalysisFinding[]) {
  return each(set.rules, work, { cost: ({ size }) => size, place: rule => limited(rule.policy, rule.at), look })
}

const identity = ({ attribute: { name } }: Criterion): "token" | "mTLS identity" | undefined => {
  if (name.startsWith("request.auth.")) return "token"
  return name.startsWith("source.") && name !== "source.ip" ? "mTLS identity" : undefined
}

export function anonymous(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  return eachRule(set, work, rule => {
    if (rule.action !== "ALLOW") return []
    const { from, when } = rule.compiled
    const alternatives: readonly Clause[] = from.length === 0 ? [[]] : from
    return alternatives.flatMap(alternative => {
      const clause = [...alternative, ...when]
      const excluded = clause.find(criterion => criterion.negated && identity(criterion) !== undefined)
      if (excluded === undefined) return []
      const kind = identity(excluded)
      const ofKind = clause.filter(criterion => identity(criterion) === kind)
      if (ofKind.some(criterion => !criterion.negated)) return []
      // An author who excludes every value means requests without the attribute.
      if (ofKind.some(({ values }) => values.includes("*"))) return []
      const why = `\`${excluded.field}\` also holds for callers that have no ${kind} at all, so they are allowed`
      const fix = kind === "token" ? 'add `requestPrincipals: ["*"]` beside it' : 'add `principals: ["*"]` beside it'
      return [analysisFinding("admits-anonymous", rule.policy, `${rule.at}.${excluded.field}`, why, fix)]
    })
  })
}

const isPort = ({ attribute }: Criterion): boolean => attribute.name === "destination.port"

export function widensOnTcp(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  return eachRule(set, work, rule => {
    if (rule.action !== "DENY") return []
    const { from, to, when } = rule.compiled
    const http = [...from.flat(), ...to.flat(), ...when].find(({ attribute }) => attribute.httpOnly)
    // One alternative without a port is enough to match every TCP port.
    const alternatives: readonly Clause[] = to.length === 0 ? [[]] : to
    const bound = alternatives.every(alternative => [...alternative, ...when].some(isPort))
    if (http === undefined || bound) return []
    const why = `on TCP ports \`${http.field}\` counts as matched, so the rule denies more there than it says`
    const fix = "name the HTTP ports it is meant for: `to: [{operation: {ports: [...]}}]`"
    return [analysisFinding("deny-widens-on-tcp", rule.policy, rule.at, why, fix)]
  })
}

export function hostsWithoutPort(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  return eachRule(set, work, rule =>
    rule.compiled.to.flat().flatMap(({ attribute, field, negated, values }) => {
      // The other cases leave something open and have a clearer finding of their own.
      if (attribute.name !== "host" || negated === (rule.action === "ALLOW")) return []
      const written = new Set(values)
      return values
        .filter(host => !host.includes("*") && !/:\d+$/.test(host) && !written.has(`${host}:*`))
        .map(host => {
          const why = `the port is part of the host: \`${host}\` does not match \`${host}:8080\``
          return analysisFinding(
            "host-without-port",
            rule.policy,
            `${rule.at}.${field}`,
            why,
            `add \`${host}:*\` if any port is meant`,
          )
        })
    }),
  )
}

const SECTIONS = ["from", "to", "when"] as const

export function strayDashes(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const fix = "remove the dash before the second part if both were meant together"
  return eachRule(set, work, ({ policy, index }) => {
    const rules = policy.spec.rules ?? []
    const rule = rules[index] ?? {}
    const split = splitRule(rules[index - 1], rule).map(why =>
      analysisFinding("stray-dash", policy, `spec.rules[${index}]`, why, fix),
    )
    const either = [sourcesOf(rule), operationsOf(rule)]
      .flatMap(eitherIsEnough)
      .map(({ at, why }) => analysisFinding("either-is-enough", policy, `spec.rules[${index}].${at}`, why, fix))
    return [...split, ...either]
  })
}

/** Two neighbouring rules that complete each other, like `from` and `to` of one rule with a dash between them. */
function splitRule(previous: Rule | undefined, rule: Rule): readonly string[] {
  const [a, b] = [sections(previous ?? {}), sections(rule)]
  if (a.length === 0 || b.length === 0 || b.some(section => a.includes(section))) return []
  // `when` before `from` is an unusual order, so those are two rules on purpose.
  const inOrder = SECTIONS.indexOf(a.at(-1) ?? "from") < SECTIONS.indexOf(b[0] ?? "from")
  if (!inOrder) return []
  return [
    `this rule has only \`${b.join("`, `")}\` and the one before it only \`${a.join("`, `")}\`: each is enough by itself`,
  ]
}

const sections = (rule: Rule): readonly (typeof SECTIONS)[number][] =>
  SECTIONS.filter(section => (rule[section] ?? []).length > 0)

interface Alternative {
  readonly at: string
  readonly fields: readonly string[]
}

/** Neighbouring alternatives that read different attributes, like one alternative with a superfluous dash. */
function eitherIsEnough(alternatives: readonly Alternative[]): readonly { at: string; why: string }[] {
  return alternatives.flatMap(({ fields }, index) => {
    const next = alternatives[index + 1]
    if (next === undefined || fields.length === 0 || next.fields.some(field => fields.includes(field))) return []
    const why = `\`${fields.join("`, `")}\` and \`${next.fields.join("`, `")}\` are two alternatives: either is enough`
    return [{ at: next.at, why }]
  })
}

const sourcesOf = ({ from = [] }: Rule): readonly Alternative[] =>
  from.map(({ source }, index) => ({ at: `from[${index}]`, fields: Object.keys(source ?? {}) }))

const operationsOf = ({ to = [] }: Rule): readonly Alternative[] =>
  to.map(({ operation }, index) => ({ at: `to[${index}]`, fields: Object.keys(operation ?? {}) }))

export function foreignTrustDomains(set: PolicySet, work: Work): Steps<readonly AnalysisFinding[]> {
  const domains = new Set([set.mesh.trustDomain, ...set.mesh.trustDomainAliases])
  return eachRule(set, work, rule =>
    [...rule.compiled.from.flat(), ...rule.compiled.when].flatMap(({ attribute, field, values }) => {
      if (attribute.name !== "source.principal") return []
      return values.flatMap(value => {
        const [domain = "", ...rest] = value.split("/")
        if (rest.length !== 4 || domain.includes("*") || domains.has(domain)) return []
        const why = `\`${domain}\` is neither the mesh's trust domain nor an alias, so no peer with \`${value}\` is accepted`
        const fix = `write \`${set.mesh.trustDomain}\`, or add \`${domain}\` to the mesh's trust domain aliases`
        return [analysisFinding("unknown-trust-domain", rule.policy, `${rule.at}.${field}`, why, fix)]
      })
    }),
  )
}
