// SPDX-License-Identifier: Apache-2.0
// The smallest policy change that would allow a denied request. Each candidate is verified: the changed documents are
// compiled and the request is judged again. Whether to make the change is up to the user.

import type { RuleTrace, Trace } from "../authorization/explain.js"
import type { FailedCriterion } from "../authorization/nearest.js"
import type { RuleRef } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type { Attributes } from "../request/attributes.js"
import type { AuthorizationPolicy, PolicyDocument } from "../resources/document.js"
import type { Workload } from "../selection/workload.js"
import type { KeySetLookup } from "../tokens/program.js"
import type { DescribedRequest } from "./described-request.js"
import { type Answer, Trial } from "./trial.js"

export interface PolicyEdit {
  readonly rule: RuleRef
  /** The path within the document, such as `spec.rules[0].to[0].operation.methods`. */
  readonly at: string
  readonly change: "add" | "remove"
  readonly value: string
}

/** The number of rules that are tried, the nearest first: a set may be large. */
const MAX_TRIED = 20

export interface AllowingQuestion {
  readonly documents: readonly PolicyDocument[]
  readonly workload: Workload
  readonly mesh: MeshConfig
  readonly now: number
  readonly asked: DescribedRequest
  /** See `Trial`. */
  readonly keys?: KeySetLookup | undefined
}

/** Undefined if no such change was found, or none is needed. */
export function smallestChange(
  question: AllowingQuestion,
  { trace, stage, attributes }: Answer,
): readonly PolicyEdit[] | undefined {
  if (trace === undefined || trace.verdict === "allow") return undefined
  if (stage === "deny") return denyExceptions(question, trace, attributes)
  if (stage !== "allow") return undefined
  const rules = trace.policies
    .filter(({ action, shadow }) => action === "ALLOW" && !shadow)
    .flatMap(({ rules }) => rules)
  const candidates = rules
    .map(rule => ({ rule, failures: failuresOf(rule) }))
    .sort((a, b) => a.failures.length - b.failures.length)
    .slice(0, MAX_TRIED)
  for (const { rule, failures } of candidates) {
    const edits = failures.map(failure => editFor(rule.rule, failure))
    if (edits.includes(undefined)) continue
    const found = edits.filter(edit => edit !== undefined)
    if (found.length > 0 && allows(question, found)) return found
  }
  return undefined
}

/**
 * Adds an exception to every DENY rule that matches, for the caller or else for the path, and then what ALLOW rules
 * lack.
 */
function denyExceptions(
  question: AllowingQuestion,
  { policies }: Trace,
  attributes: Attributes | undefined,
): readonly PolicyEdit[] | undefined {
  const matching = policies
    .filter(({ action, shadow }) => action === "DENY" && !shadow)
    .flatMap(({ rules }) => rules.filter(({ matched }) => matched))
  const exceptions = [
    { list: "from", field: "source.notPrincipals", value: attributes?.peer?.principal },
    { list: "to", field: "operation.notPaths", value: attributes?.http?.path },
  ] as const
  for (const { list, field, value } of exceptions) {
    if (value === undefined) continue
    const edits = matching.flatMap(rule =>
      placesIn(rule[list]).map(
        (index): PolicyEdit => ({
          rule: rule.rule,
          at: `spec.rules[${rule.rule.rule}].${list}[${index}].${field}`,
          change: "add",
          value,
        }),
      ),
    )
    const answer = answerWith(question, edits)
    if (answer?.verdict === "allow") return edits
    if (answer === undefined || answer.stage !== "allow") continue
    const documents = question.documents.map(document => edited(document, edits))
    const more = smallestChange({ ...question, documents }, answer)
    if (more !== undefined) return [...edits, ...more]
  }
  return undefined
}

/** The matching alternatives; if there are none, a new one must be added. */
function placesIn(clauses: RuleTrace["from"]): readonly number[] {
  return clauses.length === 0 ? [0] : clauses.flatMap(({ holds }, index) => (holds ? [index] : []))
}

/** The failures of the nearest alternatives. */
function failuresOf({ from, to, when }: RuleTrace): readonly FailedCriterion[] {
  const nearest = (clauses: RuleTrace["from"]): readonly FailedCriterion[] => {
    const failing = clauses.map(({ criteria }) => criteria.filter(({ holds }) => !holds))
    return failing.sort((a, b) => a.length - b.length)[0] ?? []
  }
  return [...nearest(from), ...nearest(to), ...when.criteria.filter(({ holds }) => !holds)]
}

/** Undefined if the request has no value that could be added. */
function editFor(rule: RuleRef, { field, negated, values, actual }: FailedCriterion): PolicyEdit | undefined {
  const at = `spec.rules[${rule.rule}].${field}`
  if (actual === undefined) return undefined
  if (!negated) return { rule, at, change: "add", value: firstOf(actual) }
  const [only, ...others] = values
  return only === undefined || others.length > 0 ? undefined : { rule, at, change: "remove", value: only }
}

/** For a header or claim with several values, one is enough. */
function firstOf(actual: string): string {
  if (!actual.startsWith("[")) return actual
  try {
    const [first]: readonly unknown[] = JSON.parse(actual)
    return typeof first === "string" ? first : actual
  } catch {
    return actual
  }
}

function allows(question: AllowingQuestion, edits: readonly PolicyEdit[]): boolean {
  return answerWith(question, edits)?.verdict === "allow"
}

/** Undefined if the documents would be invalid because the field does not accept the value. */
function answerWith(
  { documents, workload, mesh, now, asked, keys }: AllowingQuestion,
  edits: readonly PolicyEdit[],
): Answer | undefined {
  try {
    const changed = documents.map(document => edited(document, edits))
    return new Trial(changed, workload, mesh, now, keys).ask(asked)
  } catch {
    return undefined
  }
}

function edited(document: PolicyDocument, edits: readonly PolicyEdit[]): PolicyDocument {
  const { kind, metadata } = document
  const own = edits.filter(
    ({ rule: { policy } }) => policy.namespace === metadata.namespace && policy.name === metadata.name,
  )
  if (kind !== "AuthorizationPolicy" || own.length === 0) return document
  const copy: AuthorizationPolicy = structuredClone(document)
  for (const edit of own) apply(copy, edit)
  return copy
}

function apply(document: AuthorizationPolicy, { at, change, value }: PolicyEdit): void {
  const steps = [...at.matchAll(/([A-Za-z]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))
  let place: unknown = document
  for (const [index, step] of steps.slice(0, -1).entries()) {
    const holder = place as { [step: string | number]: unknown } // a copy of JSON
    holder[step] ??= typeof steps[index + 1] === "number" ? [] : {}
    place = holder[step]
  }
  const holder = place as { [field: string]: string[] } // the field of a source, operation or condition
  const last = String(steps.at(-1))
  const list = holder[last] ?? []
  holder[last] = change === "add" ? [...list, value] : list.filter(item => item !== value)
  if (holder[last].length === 0) delete holder[last]
}
