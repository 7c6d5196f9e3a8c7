// SPDX-License-Identifier: Apache-2.0
// The regions of a decision that tests should cover: each way a request is decided, every alternative of a rule, and for
// every field of a rule the requests that only this field excludes. The account of a request shows whether it lies in a
// region.

import { attributeTable } from "../authorization/attributes.js"
import type { ClauseTrace, RuleTrace } from "../authorization/explain.js"
import { compileRule, type RuleRef } from "../authorization/rule.js"
import { ruleName } from "../authorization/rule-name.js"
import type { MeshConfig } from "../mesh/config.js"
import { describeRule } from "../proof/words.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument } from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import type { Answer, Trial } from "../trial/trial.js"

/** Decided by a stage before any rule, or because no rule matched. */
export type StageRegion = "transport" | "token" | "no rule" | "no policy"

export type Action = "ALLOW" | "DENY" | "AUDIT" | "CUSTOM"

interface OfRule {
  readonly rule: RuleRef
  readonly action: Action
  /** The rule reduced to the requests of the region. */
  readonly reduced: Rule
}

export type RegionKind =
  | { readonly kind: "stage"; readonly stage: StageRegion }
  /** `part`: the alternative, such as `to[1]`; absent if the rule has only one. */
  | (OfRule & { readonly kind: "within"; readonly part: string | undefined })
  /** `field`: the only field that excludes such requests from the rule. */
  | (OfRule & { readonly kind: "beside"; readonly field: string })

export interface Region {
  /** Equal for identical regions, whatever workload they were found for. */
  readonly id: string
  readonly of: RegionKind
  /** Words that continue the phrase "no case is …". */
  readonly words: string
}

/** `documents` are those that concern the workload of the trial. */
export function regionsOf(documents: readonly PolicyDocument[], trial: Trial, mesh: MeshConfig): readonly Region[] {
  // The answer of a provider does not depend on the policies, so no test can cover it.
  const policies = documents
    .filter(isPolicy)
    .filter(document => !isShadow(document, mesh) && actionOf(document) !== "CUSTOM")
  return [...stageRegions(documents, policies), ...policies.flatMap(policy => policyRegions(policy, trial, mesh))]
}

export function isPolicy(document: PolicyDocument): document is AuthorizationPolicy {
  return document.kind === "AuthorizationPolicy"
}

export function actionOf({ spec }: AuthorizationPolicy): Action {
  return spec.action ?? "ALLOW"
}

const STAGES: Readonly<Record<StageRegion, string>> = {
  transport: "closed by the mTLS mode",
  token: "denied because of its token, or because it has none",
  "no rule": "denied because no ALLOW rule matches",
  "no policy": "allowed because no ALLOW policy applies",
}

function stageRegions(
  documents: readonly PolicyDocument[],
  policies: readonly AuthorizationPolicy[],
): readonly Region[] {
  const has = (kind: PolicyDocument["kind"]): boolean => documents.some(document => document.kind === kind)
  const stages: readonly StageRegion[] = [
    ...(has("PeerAuthentication") ? (["transport"] as const) : []),
    ...(has("RequestAuthentication") ? (["token"] as const) : []),
    policies.some(policy => actionOf(policy) === "ALLOW") ? "no rule" : "no policy",
  ]
  const set = documents.map(({ kind, metadata }) => `${kind}/${metadata.namespace}/${metadata.name}`).sort()
  return stages.map(stage => ({
    id: JSON.stringify([stage, ...set]),
    of: { kind: "stage", stage },
    words: STAGES[stage],
  }))
}

function policyRegions(policy: AuthorizationPolicy, trial: Trial, mesh: MeshConfig): readonly Region[] {
  const { namespace, name } = policy.metadata
  const ref = { namespace, name }
  const action = actionOf(policy)
  const table = attributeTable(trial.program.authorization.issuers.enforced, trial.program.mesh.dialect)
  const words = (rule: Rule): string => describeRule(compileRule(ref, 0, rule, mesh, table))
  return (policy.spec.rules ?? []).flatMap((rule, index) => {
    const own: RuleRef = { policy: ref, rule: index, id: `ns[${namespace}]-policy[${name}]-rule[${index}]` }
    const within = partsOf(rule).map(
      ({ part, reduced }): Region => ({
        id: JSON.stringify(["within", own.id, part]),
        of: { kind: "within", rule: own, action, part, reduced },
        words: `${WITHIN[action]} ${ruleName(own)}${part === undefined ? "" : ` ${part}`}: ${words(reduced)}`,
      }),
    )
    // Other rules decide the requests that an AUDIT rule does not match.
    const beside = action === "AUDIT" ? [] : besidesOf(rule)
    return [
      ...within,
      ...beside.map(
        ({ field, reduced }): Region => ({
          id: JSON.stringify(["beside", own.id, field]),
          of: { kind: "beside", rule: own, action, field, reduced },
          words: `${action === "ALLOW" ? "denied only for" : "allowed only for"} ${field} of ${ruleName(own)}`,
        }),
      ),
    ]
  })
}

const WITHIN: Readonly<Record<Action, string>> = {
  ALLOW: "allowed by",
  DENY: "denied by",
  AUDIT: "marked by",
  CUSTOM: "left to the provider of",
}

/** Each alternative of `from` and of `to`; the unchanged rule if there is no choice. */
function partsOf(rule: Rule): readonly { readonly part: string | undefined; readonly reduced: Rule }[] {
  const { from = [], to = [] } = rule
  const parts = [
    ...(from.length > 1 ? from.map((one, at) => ({ part: `from[${at}]`, reduced: { ...rule, from: [one] } })) : []),
    ...(to.length > 1 ? to.map((one, at) => ({ part: `to[${at}]`, reduced: { ...rule, to: [one] } })) : []),
  ]
  return parts.length > 0 ? parts : [{ part: undefined, reduced: rule }]
}

type Lists = { readonly [field: string]: readonly string[] | undefined }

/** For each field, the rule with that field inverted and without its other alternatives. */
function besidesOf(rule: Rule): readonly { readonly field: string; readonly reduced: Rule }[] {
  const { from = [], to = [], when = [] } = rule
  return [
    ...from.flatMap(({ source = {} }, at) =>
      turned(source).map(({ field, lists }) => ({
        field: `from[${at}].source.${field}`,
        reduced: { ...rule, from: [{ source: lists }] },
      })),
    ),
    ...to.flatMap(({ operation = {} }, at) =>
      turned(operation).map(({ field, lists }) => ({
        field: `to[${at}].operation.${field}`,
        reduced: { ...rule, to: [{ operation: lists }] },
      })),
    ),
    ...when.flatMap(({ key, ...values }, at) =>
      turned(values).map(({ field, lists }) => ({
        field: `when[${at}].${field}`,
        reduced: { ...rule, when: when.with(at, { key, ...lists }) },
      })),
    ),
  ]
}

/** Inverts each list in turn, if that can be written: a value that is in two lists cannot be. */
function turned(lists: Lists): readonly { readonly field: string; readonly lists: Lists }[] {
  return Object.keys(lists).flatMap(field => {
    const { [field]: values = [], ...others } = lists
    const opposite = oppositeOf(field)
    if (values.length === 0 || (field.startsWith("not") && others[opposite] !== undefined)) return []
    return [{ field, lists: { ...others, [opposite]: [...(others[opposite] ?? []), ...values] } }]
  })
}

function oppositeOf(field: string): string {
  return field.startsWith("not")
    ? `${field.charAt(3).toLowerCase()}${field.slice(4)}`
    : `not${field.charAt(0).toUpperCase()}${field.slice(1)}`
}

/** Whether a request with this answer lies in the region. */
export function isWithin({ of }: Region, answer: Answer): boolean {
  const { verdict, stage } = answer
  if (of.kind === "stage") {
    switch (of.stage) {
      case "transport":
      case "token":
        return stage === of.stage
      case "no rule":
        return verdict === "deny" && stage === "allow"
      case "no policy":
        return verdict === "allow" && stage === "default"
    }
  }
  const trace = traceOf(answer, of.rule)
  if (trace === undefined) return false
  if (of.kind === "within") {
    const isSettled =
      of.action === "AUDIT" || (stage === of.action.toLowerCase() && (verdict === "allow") === (of.action === "ALLOW"))
    return isSettled && trace.matched && (of.part === undefined || partHolds(trace, of.part))
  }
  const isSpared = of.action === "ALLOW" ? verdict === "deny" && stage === "allow" : stage !== "deny"
  return isSpared && !trace.matched && failsAlone(trace, of.field)
}

function traceOf({ trace }: Answer, { id }: RuleRef): RuleTrace | undefined {
  const enforced = trace?.policies.filter(({ shadow }) => !shadow) ?? []
  return enforced.flatMap(({ rules }) => rules).find(({ rule }) => rule.id === id)
}

function partHolds({ from, to }: RuleTrace, part: string): boolean {
  const list = part.startsWith("from") ? from : to
  return list[Number(/\d+/.exec(part)?.[0])]?.holds === true
}

/** Whether the rest of its alternative holds, and the other parts of the rule. */
function failsAlone({ from, to, when }: RuleTrace, field: string): boolean {
  const isOwn = (clause: ClauseTrace): boolean => clause.criteria.some(one => one.field === field)
  const passes = (clauses: readonly ClauseTrace[]): boolean => {
    const own = clauses.find(isOwn)
    if (own === undefined) return clauses.length === 0 || clauses.some(({ holds }) => holds)
    return own.criteria.every(one => one.holds !== (one.field === field))
  }
  return passes(from) && passes(to) && passes([when])
}
