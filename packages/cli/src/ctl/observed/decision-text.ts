// SPDX-License-Identifier: Apache-2.0
// Formats decisions for people: a table row, and the complete account of one. The text comes from callers and proxies, so
// terminal control characters are removed.

import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { paint, visible } from "../terminal.js"
import { type Observation, shortCaller } from "./answers-api.js"

export const DECISION_HEAD = ["TIME", "VERDICT", "WORKLOAD", "CALLER", "REQUEST", "STATUS", "WHY"]

export function decisionRow({ spec }: Observation): readonly string[] {
  const { time, verdict, workload, protocol, status, rule, reason, shadow, id } = spec
  const why = textOf(reason) ?? textOf(rule) ?? (textOf(shadow) === undefined ? "-" : `shadow: ${textOf(shadow)}`)
  const known = textOf(id)
  const cells = [
    (textOf(time) ?? "").slice(11, 19),
    textOf(verdict) ?? "",
    textOf(workload) ?? "",
    shortCaller(spec),
    requestOf(spec),
    // An allowed TCP connection has no status.
    verdict === "allow" && protocol === "tcp" ? "-" : statusOf(status),
    known === undefined ? why : `${why} [${known}]`,
  ]
  return cells.map(visible)
}

function requestOf({ protocol, method, path }: Fields): string {
  return protocol === "tcp" ? "tcp" : `${textOf(method) ?? ""} ${textOf(path) ?? ""}`
}

const statusOf = (status: unknown): string => (typeof status === "number" && status > 0 ? String(status) : "closed")

/** Everything that the proxy still knew about the decision. */
export function decisionText({ spec }: Observation): string {
  const { verdict, status, time, workload, port, reason, explanation } = spec
  const head = verdict === "allow" ? paint.green("allowed") : paint.red(`denied: ${statusOf(status)}`)
  const lines = [
    `${head} ${visible(requestOf(spec))}`,
    "",
    `  when    ${visible(textOf(time) ?? "")}`,
    `  by      ${visible(textOf(workload) ?? "")}, port ${typeof port === "number" ? port : "?"}`,
    `  caller  ${visible(shortCaller(spec))}${spec.peer === undefined ? ", in plaintext" : ""}`,
  ]
  if (textOf(reason) !== undefined) lines.push(`  why     ${visible(textOf(reason) ?? "")}`)
  const policies = listOf(fieldsOf(explanation).policies).map(fieldsOf)
  if (policies.length > 0) lines.push("", "Policies evaluated:", ...policies.flatMap(policyLines))
  return lines.join("\n")
}

function policyLines({ policy, action, shadow, matched, rules }: Fields): readonly string[] {
  const { namespace, name } = fieldsOf(policy)
  const head = `  ${textOf(action)} ${textOf(namespace)}/${textOf(name)}${shadow === true ? " (Shadow)" : ""}: ${matched === true ? "matches" : "does not match"}`
  return [visible(head), ...listOf(rules).map(fieldsOf).map(ruleLine)]
}

function ruleLine({ rule, matched, from, to, when }: Fields): string {
  const index = Number(fieldsOf(rule).rule)
  if (matched === true) return `    rule ${index}: ✓`
  const clauses = [...listOf(from), ...listOf(to), when].map(fieldsOf)
  const failed = clauses
    .filter(({ holds }) => holds === false)
    .flatMap(({ criteria }) => listOf(criteria).map(fieldsOf))
  const first = failed.find(({ holds }) => holds === false)
  return visible(`    rule ${index}: ✗ ${first === undefined ? "no alternative matches" : criterionText(first)}`)
}

function criterionText({ field, negated, values, actual }: Fields): string {
  const wanted = listOf(values).map(String).join(", ")
  const has = textOf(actual) === undefined ? "the request has none" : `the request has ${textOf(actual)}`
  return `${textOf(field) ?? "a field"} ${negated === true ? "excludes" : "wants"} ${wanted}; ${has}`
}
