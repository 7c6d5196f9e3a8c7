// SPDX-License-Identifier: Apache-2.0
// Assesses a change before it is stored: which invariants it would break, and what it newly allows. A user is waiting,
// so there is a deadline; everything that is undecided by then is reported as undecided.

import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument, PolicyInvariant } from "../../resources/document.js"
import type { Limits } from "../budget.js"
import { describeWitness } from "../describe-witness.js"
import { narrows } from "../monotone.js"
import { concerns } from "../selected.js"
import { ruleWords } from "../words.js"
import { callersAmong, type ProofWorkload } from "../workload.js"
import { diffSets } from "./diff.js"
import { type CheckedInvariant, type CheckOptions, checkInvariants, isAbout } from "./invariants.js"

export interface PolicyStep {
  /** All stored documents. */
  readonly documents: readonly PolicyDocument[]
  /** The stored document; undefined if it is new. */
  readonly before: PolicyDocument | undefined
  /** The document after the change; undefined if it is deleted. */
  readonly after: PolicyDocument | undefined
}

export interface Assessment {
  /** Why the change must be rejected; empty if it is accepted. */
  readonly rejections: readonly string[]
  readonly warnings: readonly string[]
}

export interface AssessOptions {
  readonly limits: Limits
  /** Seconds since the epoch. */
  readonly now: number
}

const MAX_TOLD = 3

export function assessChange(
  { documents, before, after }: PolicyStep,
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  { limits, now }: AssessOptions,
): Assessment {
  const options = { limits, now, callers: callersFor(after ?? before, workloads, mesh) }
  const old = documents.filter(document => document !== before)
  const [was, is] = [before === undefined ? old : [...old, before], after === undefined ? old : [...old, after]]
  if (after?.kind === "PolicyInvariant") return assessInvariant(after, was, workloads, mesh, options)
  const isTouched = (workload: ProofWorkload): boolean =>
    [before, after].some(document => document !== undefined && concerns(document, workload, mesh))
  const touched = workloads.filter(isTouched)
  if (touched.length === 0) return NOTHING
  const change = { before, after, documents: old }
  const broken = assessInvariants(change, was, is, touched, mesh, options)
  // This needs no search. A search takes longer the more policies others have.
  const newly = narrows(change, old, mesh) ? [] : widened(was, is, touched, mesh, options)
  return { rejections: broken.rejections, warnings: [...broken.warnings, ...newly] }
}

/** A policy author of one namespace must not learn which workloads run in others. */
function callersFor(
  of: PolicyDocument | undefined,
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
): readonly string[] {
  const place = of?.metadata.namespace
  const seen = place === mesh.names.rootNamespace ? workloads : workloads.filter(({ namespace }) => namespace === place)
  return callersAmong(seen, mesh)
}

const NOTHING: Assessment = { rejections: [], warnings: [] }

/** An invariant that does not hold yet is accepted, so that its author learns what to fix. */
function assessInvariant(
  invariant: PolicyInvariant,
  documents: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: CheckOptions,
): Assessment {
  const checked = checkInvariants([invariant], documents, workloads, mesh, options)
  const warnings = checked
    .filter(({ result }) => result.verdict !== "holds")
    .map(one => `already now, ${describeViolation(one)}`)
  if (!workloads.some(workload => isAbout(invariant, workload, mesh)))
    warnings.push("it is about no workload that exists")
  return { rejections: [], warnings: warnings.slice(0, MAX_TOLD) }
}

/** Only an invariant that held can be broken: one that is already broken does not block the changes that fix it. */
function assessInvariants(
  change: PolicyStep,
  was: readonly PolicyDocument[],
  is: readonly PolicyDocument[],
  touched: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: CheckOptions,
): Assessment {
  const safe = safeFrom(change, mesh)
  const { rootNamespace } = mesh.names
  const invariants = is
    .filter(document => document.kind === "PolicyInvariant")
    .map(({ spec, ...invariant }) => ({ ...invariant, spec: { ...spec, ...safe } }))
    // The operators' invariants come first: invariants of a namespace that are slow to prove must not use up their
    // time.
    .sort((a, b) => Number(b.metadata.namespace === rootNamespace) - Number(a.metadata.namespace === rootNamespace))
  const concerned = invariants.filter(invariant => touched.some(workload => isAbout(invariant, workload, mesh)))
  if (concerned.length === 0) return NOTHING
  const rejections: string[] = []
  const warnings: string[] = []
  for (const one of checkInvariants(concerned, is, touched, mesh, options)) {
    if (one.result.verdict === "holds") continue
    const invariant = concerned.find(({ metadata }) => isNamed(metadata, one.rule.invariant))
    if (invariant === undefined || wasBroken(one, invariant, was, mesh, options)) continue
    ;(binds(one.rule.holds, invariant, change, mesh) ? rejections : warnings).push(describeViolation(one))
  }
  return { rejections: rejections.slice(0, MAX_TOLD), warnings: warnings.slice(0, MAX_TOLD) }
}

/** Whether a change could be rejected because of an invariant, as far as that is known without a search. */
export function couldBreak(change: PolicyStep, invariant: PolicyInvariant, mesh: MeshConfig): boolean {
  const { kind, metadata } = change.after ?? change.before ?? invariant
  if (kind === "MeshService" || kind === "PolicyInvariant") return false
  const places = new Set([metadata.namespace, invariant.metadata.namespace, mesh.names.rootNamespace])
  if (places.size > 2) return false
  const { never = [], always = [] } = invariant.spec
  const at = { never, always, ...safeFrom(change, mesh) }
  return (["never", "always"] as const).some(holds => at[holds].length > 0 && binds(holds, invariant, change, mesh))
}

/**
 * The invariants that a change cannot break: a change that allows no more cannot break a `never`, and a change that
 * denies no more cannot break an `always`.
 */
function safeFrom(
  { documents, before, after }: PolicyStep,
  mesh: MeshConfig,
): { readonly never?: []; readonly always?: [] } {
  const others = documents.filter(document => document !== before)
  if (narrows({ before, after }, others, mesh)) return { never: [] }
  return narrows({ before: after, after: before }, others, mesh) ? { always: [] } : {}
}

/** Otherwise it only warns. A namespace's wish to stay reachable does not stop the mesh's operators from closing it. */
function binds(
  holds: "never" | "always",
  { metadata, spec }: PolicyInvariant,
  { before, after }: Omit<PolicyStep, "documents">,
  { names: { rootNamespace } }: MeshConfig,
): boolean {
  if (spec.enforcement === "Shadow") return false
  const place = (after ?? before)?.metadata.namespace
  return holds === "never" || place !== rootNamespace || metadata.namespace === rootNamespace
}

function wasBroken(
  { rule, workloads }: CheckedInvariant,
  invariant: PolicyInvariant,
  was: readonly PolicyDocument[],
  mesh: MeshConfig,
  options: CheckOptions,
): boolean {
  const before = checkInvariants([invariant], was, workloads, mesh, options)
  const same = before.filter(one => one.rule.holds === rule.holds && one.rule.name === rule.name)
  // It was broken on every one of these workloads before: if it held on one, the change breaks it there.
  return same.length > 0 && same.every(({ result }) => result.verdict === "broken")
}

function isNamed(
  a: { readonly namespace: string; readonly name: string },
  b: { readonly namespace: string; readonly name: string },
): boolean {
  return a.namespace === b.namespace && a.name === b.name
}

/** A broken or undecided rule in one sentence. */
export function describeViolation({ rule, workloads, result }: CheckedInvariant): string {
  const { invariant, holds, name } = rule
  const what = `\`${holds}: ${name}\` of PolicyInvariant \`${invariant.namespace}/${invariant.name}\``
  const where = onWorkloads(workloads)
  if (result.verdict === "undecided") return `${what} is not decided ${where}: ${result.reason}`
  if (result.verdict === "holds") return `${what} holds ${where}`
  const by = result.by === undefined ? "" : ` by ${ruleWords(result.by)}`
  const outcome = {
    custom: "is allowed unless a provider denies it",
    allow: `is allowed${by || ", because nothing denies it"}`,
    deny: `is denied${by || ", because no ALLOW rule matches it"}`,
    unauthenticated: "is denied because of its token, or because it has none",
    transport: "is closed by the mTLS mode",
  }[result.outcome]
  return `${what} is broken ${where}: ${describeWitness(result.witness)} ${outcome}`
}

function widened(
  was: readonly PolicyDocument[],
  is: readonly PolicyDocument[],
  touched: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: CheckOptions,
): readonly string[] {
  const { groups } = diffSets(was, is, touched, mesh, options)
  const regions = new Map<string, ProofWorkload[]>()
  for (const { workloads, comparison } of groups) {
    for (const { to, region } of comparison.changes) {
      if (to === "allow" || to === "custom") regions.set(region, [...(regions.get(region) ?? []), ...workloads])
    }
  }
  const messages = [...regions].map(
    ([region, workloads]) => `this newly allows ${region}${region.includes(", ") ? "," : ""} ${onWorkloads(workloads)}`,
  )
  const undecided = groups.find(({ comparison }) => comparison.undecided !== undefined)
  const more =
    messages.length > MAX_TOLD ? [`and ${messages.length - MAX_TOLD} more; \`merlonctl diff\` lists them`] : []
  const gap =
    undecided === undefined
      ? []
      : [
          `what else this changes is not decided: ${undecided.comparison.undecided}; run \`merlonctl diff\`, which takes longer`,
        ]
  return [...messages.slice(0, MAX_TOLD), ...more, ...gap]
}

function onWorkloads(workloads: readonly ProofWorkload[]): string {
  const [first, ...others] = workloads
  const name = first === undefined ? "" : `\`${first.namespace}/${first.name}\``
  if (others.length === 0) return `on ${name}`
  return `on ${workloads.length} workloads (${name} …)`
}
