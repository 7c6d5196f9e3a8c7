// SPDX-License-Identifier: Apache-2.0
// Problems of a set of policies, from heuristics and by proof, each with its position.

import { analyze, type Severity } from "@merlon/policy/analysis"
import type { RuleRef } from "@merlon/policy/authorization"
import type { MeshConfig } from "@merlon/policy/mesh"
import {
  type CheckedInvariant,
  type DeadRule,
  type DeadRuleOptions,
  deadRules,
  describeViolation,
  type Limits,
  type ProofWorkload,
} from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { PROVED_FINDINGS } from "../../errors.js"
import type { PlacedPolicy } from "./policy-files.js"
import { valueFindings } from "./value-findings.js"

export interface PatchOperation {
  readonly op: "remove"
  readonly path: string
}

export interface PlacedFinding {
  readonly code: string
  readonly severity: Severity
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The path within the document: `spec.rules[2]`. */
  readonly path: string
  readonly why: string
  readonly fix: string
  /** The fix as a JSON Patch (RFC 6902) of the document, if it is simple enough for one. */
  readonly patch?: readonly PatchOperation[]
  readonly file?: string
  readonly line?: number
  readonly column?: number
}

/** Findings of heuristics that a proof replaces with more precise ones. */
const BY_PROOF = new Set(["rule-never-matches", "shadowed-by-deny", "redundant-rule"])

export function findingsOf(
  placed: readonly PlacedPolicy[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  limits: Limits,
  unused?: DeadRuleOptions["unused"],
): readonly PlacedFinding[] {
  const documents = placed.map(({ document }) => document)
  // Without workloads it is unknown which policies apply together.
  const { dead, undecided } =
    workloads.length === 0 ? { dead: [], undecided: [] } : deadRules(documents, workloads, mesh, { limits, unused })
  const proved = dead.map(one => deadFinding(one, documents))
  const known = new Set(proved.map(({ namespace, name, path }) => `${namespace}/${name} ${path}`))
  const open = undecided.map(({ rule, reason }) =>
    finding(
      "not-decided",
      "info",
      rule,
      `cannot verify whether the rule has an effect: ${reason}`,
      PROVED_FINDINGS["not-decided"].fix,
    ),
  )
  const others = analyze(documents, mesh, workloads.length === 0 ? undefined : workloads).filter(
    ({ code, namespace, name, path }) => !(BY_PROOF.has(code) && known.has(`${namespace}/${name} ${ruleOf(path)}`)),
  )
  const values = documents.flatMap(document => valueFindings(document, mesh.names))
  return [...others, ...proved, ...open, ...values].map(one => withPlace(one, placed)).sort(byPlace)
}

/** Invariants that are broken or undecided. */
export function invariantFindings(
  checked: readonly CheckedInvariant[],
  placed: readonly PlacedPolicy[],
): readonly PlacedFinding[] {
  return placed.flatMap(({ document }) => {
    if (document.kind !== INVARIANT) return []
    const { namespace, name } = document.metadata
    const found = (code: keyof typeof PROVED_FINDINGS, path: string, why: string): PlacedFinding => {
      const { severity, fix } = PROVED_FINDINGS[code]
      return withPlace({ code, severity, kind: INVARIANT, namespace, name, path, why, fix }, placed)
    }
    const own = checked.filter(
      ({ rule: { invariant } }) => invariant.namespace === namespace && invariant.name === name,
    )
    if (own.length === 0) return [found("invariant-not-decided", "", "no workload that it is about was read")]
    return own.flatMap(one => {
      const { rule, result } = one
      if (result.verdict === "holds") return []
      const at = (document.spec[rule.holds] ?? []).findIndex(stated => stated.name === rule.name)
      const code = result.verdict === "broken" ? "broken-invariant" : "invariant-not-decided"
      return [found(code, `spec.${rule.holds}[${at}]`, describeViolation(one))]
    })
  })
}

const INVARIANT = "PolicyInvariant"

function deadFinding({ rule, because, by }: DeadRule, documents: readonly PolicyDocument[]): PlacedFinding {
  const names = by.map(ref => `rule ${ref.rule} of \`${ref.policy.namespace}/${ref.policy.name}\``).join(" and ")
  const why = {
    contradiction: "no request can match the rule: it contradicts itself",
    "mode-or-token": "the rule matches only requests that the mTLS mode or the token rules deny before it is evaluated",
    "other-rules":
      names === ""
        ? "other rules decide everything that the rule matches"
        : `${names} decide${by.length === 1 ? "s" : ""} everything that the rule matches`,
  }[because]
  // A DENY rule that only matches denied requests is harmless. An ALLOW rule that only matches denied requests fails
  // its purpose.
  const harms = because === "contradiction" || (because === "mode-or-token" && !isDenyRule(rule, documents))
  const severity = harms ? "error" : "warning"
  const unusedRule = finding(
    "dead-rule",
    severity,
    rule,
    `${why} (verified: every request is decided the same way without it)`,
    PROVED_FINDINGS["dead-rule"].fix,
  )
  return { ...unusedRule, patch: [{ op: "remove", path: `/spec/rules/${rule.rule}` }] }
}

function isDenyRule({ policy }: RuleRef, documents: readonly PolicyDocument[]): boolean {
  return documents.some(
    ({ kind, metadata, spec }) =>
      kind === "AuthorizationPolicy" &&
      metadata.namespace === policy.namespace &&
      metadata.name === policy.name &&
      "action" in spec &&
      spec.action === "DENY",
  )
}

/** A finding about one rule that only a proof gives. */
function finding(code: string, severity: Severity, { policy, rule }: RuleRef, why: string, fix: string): PlacedFinding {
  return { code, severity, kind: "AuthorizationPolicy", ...policy, path: `spec.rules[${rule}]`, why, fix }
}

const ruleOf = (path: string): string => /^spec\.rules\[\d+\]/.exec(path)?.[0] ?? path

function withPlace(one: PlacedFinding, placed: readonly PlacedPolicy[]): PlacedFinding {
  const found = placed.find(({ document }) => isSame(document, one))
  const at = found?.locate(pathOf(one.path))
  return {
    ...one,
    ...(found?.source === undefined ? {} : { file: found.source }),
    ...(at === undefined ? {} : { line: at.line, column: at.column }),
  }
}

function isSame({ kind, metadata }: PolicyDocument, one: PlacedFinding): boolean {
  return kind === one.kind && metadata.namespace === one.namespace && metadata.name === one.name
}

function pathOf(path: string): readonly (string | number)[] {
  return [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) =>
    index === undefined ? (name ?? "") : Number(index),
  )
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

function byPlace(a: PlacedFinding, b: PlacedFinding): number {
  return (
    RANK[a.severity] - RANK[b.severity] || (a.file ?? "").localeCompare(b.file ?? "") || (a.line ?? 0) - (b.line ?? 0)
  )
}
