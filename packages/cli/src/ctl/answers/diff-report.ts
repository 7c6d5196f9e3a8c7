// SPDX-License-Identifier: Apache-2.0
// The effect of a policy change as JSON, as text and as Markdown for a pull request.

import type { MeshNames } from "@merlon/policy/mesh"
import {
  type Change,
  type CheckedInvariant,
  type Diff,
  type DiffGroup,
  describeViolation,
  lastingName,
  type Outcome,
  type ProofWorkload,
  type Witness,
} from "@merlon/policy/proof"
import type { TouchedCalls } from "@merlon/policy/trial"
import { visible } from "../terminal.js"
import { callLine } from "./call-line.js"
import { type Inputs, inputLines, isComplete, NOT_ALL_READ } from "./inputs.js"

export type FailOn = "widen" | "narrow" | "any"

interface ReportedChange {
  readonly workload: string
  readonly direction: Outcome
  /** The decision about such a request before the change. */
  readonly before: Outcome
  /** Providers that may deny such a request, before and after. Absent if there are none. */
  readonly providers?: { readonly before: readonly string[]; readonly after: readonly string[] }
  readonly region: string
  readonly witness: Witness & { readonly call: string }
  /** Recorded calls of the workload that change in this direction. Absent if no calls are given. */
  readonly recorded?: Pick<TouchedCalls, "shapes" | "calls">
}

/** Recorded calls that the change decides differently, by `namespace/name` of the owner of the workload's Pods. */
export type Touched = ReadonlyMap<string, readonly TouchedCalls[]>

export interface DiffReport {
  /** `undecided` also if something that could matter was skipped. */
  readonly result: Diff["result"]
  readonly changes: readonly ReportedChange[]
  /** Workloads for which not everything is proved, and why. */
  readonly undecided: readonly { readonly workload: string; readonly reason: string }[]
  /** Invariants that held before and are now broken or undecided. */
  readonly invariants: readonly ReportedInvariant[]
  /** Changed policies that select none of the workloads that were read. Absent if there are none. */
  readonly unselected?: readonly string[]
  readonly read: Inputs
}

/** The result of a comparison, and its inputs. */
export interface Compared {
  readonly diff: Diff
  readonly workloads: readonly ProofWorkload[]
  readonly names: MeshNames
  readonly broken: readonly CheckedInvariant[]
  /** Changed policies that select none of the workloads, each as a line of text. */
  readonly unselected?: readonly string[]
  readonly read: Inputs
  readonly touched?: Touched | undefined
}

interface ReportedInvariant {
  readonly invariant: string
  readonly rule: string
  readonly workloads: readonly string[]
  readonly verdict: "broken" | "undecided"
  readonly detail: string
  /** The former name of `detail`, kept for one version. */
  readonly told: string
  readonly witness?: Witness & { readonly call: string }
}

function reportedInvariant(one: CheckedInvariant, { workloads: all, names }: Compared): ReportedInvariant {
  const { rule, workloads, result } = one
  const detail = describeViolation(one)
  return {
    invariant: `${rule.invariant.namespace}/${rule.invariant.name}`,
    rule: `${rule.holds}: ${rule.name}`,
    workloads: workloads.map(nameOf),
    verdict: result.verdict === "broken" ? "broken" : "undecided",
    detail,
    told: detail,
    ...(result.verdict === "broken"
      ? { witness: { ...result.witness, call: callLine(result.witness, all, names) } }
      : {}),
  }
}

export function diffReport(compared: Compared): DiffReport {
  const { diff, workloads: all, names, broken, unselected = [], read, touched } = compared
  const { result, groups } = diff
  return {
    result: result === "equal" && !isComplete(read) ? "undecided" : result,
    changes: groups.flatMap(({ workloads, comparison }) =>
      workloads.flatMap(workload =>
        comparison.changes.map(({ from, to, providers: [before, after], region, witness }) => ({
          workload: nameOf(workload),
          direction: to,
          before: from,
          ...(before.length + after.length > 0 && { providers: { before, after } }),
          region,
          witness: { ...witness, call: callLine(witness, all, names) },
          ...(touched === undefined ? {} : { recorded: recordedOf(touched, [workload], from, to) }),
        })),
      ),
    ),
    undecided: groups.flatMap(({ workloads, comparison: { undecided } }) =>
      undecided === undefined ? [] : workloads.map(workload => ({ workload: nameOf(workload), reason: undecided })),
    ),
    invariants: broken.map(one => reportedInvariant(one, compared)),
    ...(unselected.length > 0 && { unselected }),
    read,
  }
}

function recordedOf(
  touched: Touched,
  workloads: readonly ProofWorkload[],
  from: Outcome,
  to: Outcome,
): Pick<TouchedCalls, "shapes" | "calls"> {
  // Pods with the same owner share the recorded calls.
  const found = [...new Set(workloads.map(lastingName))]
    .flatMap(name => touched.get(name) ?? [])
    .filter(one => one.from === from && one.to === to)
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return { shapes: sum(found.map(({ shapes }) => shapes)), calls: sum(found.map(({ calls }) => calls)) }
}

/** Whether `--fail-on` asks to fail for this change. */
export function isWanted({ direction, before }: Pick<ReportedChange, "direction" | "before">, failOn: FailOn): boolean {
  // Another provider may allow more or less.
  if (failOn === "any" || direction === before) return true
  const gained = OPENNESS[direction] - OPENNESS[before]
  return failOn === "widen" ? gained > 0 : gained < 0
}

const OPENNESS: Readonly<Record<Outcome, number>> = { allow: 2, custom: 1, deny: 0, unauthenticated: 0, transport: 0 }

type Words = Readonly<Record<Exclude<Outcome, "custom">, string>>

const NEWLY: Words = {
  allow: "newly allowed",
  deny: "newly denied (403)",
  unauthenticated: "newly unauthenticated (401)",
  transport: "newly closed by the mTLS mode",
}

const WAS: Words = {
  allow: "allowed",
  deny: "denied (403)",
  unauthenticated: "unauthenticated (401)",
  transport: "closed by the mTLS mode",
}

/** The decision about such a request after the change. */
export function newly({ to, providers: [, after] }: Pick<Change, "to" | "providers">): string {
  return to === "custom" ? `newly allowed unless ${quoted(after)} denies` : NEWLY[to]
}

export function was({ from, providers: [before] }: Pick<Change, "from" | "providers">): string {
  return from === "custom" ? `allowed unless ${quoted(before)} denies` : WAS[from]
}

const quoted = (providers: readonly string[]): string => providers.map(name => `\`${name}\``).join(" or ")

export function diffText(compared: Compared): string {
  const { diff, workloads: all, names, broken, read, touched } = compared
  const lines: string[] = broken.map(one => `broken: ${describeViolation(one)}`)
  if (lines.length > 0) lines.push("")
  for (const group of diff.groups) {
    lines.push(headline(group))
    for (const change of group.comparison.changes) {
      const { from, to, region, witness } = change
      lines.push(
        `  ${newly(change)}, until now ${was(change)}:`,
        `    ${region}`,
        `    for example: ${callLine(witness, all, names)}`,
      )
      if (touched !== undefined) lines.push(`    ${recordedWords(recordedOf(touched, group.workloads, from, to))}`)
    }
    const { undecided } = group.comparison
    if (undecided !== undefined) lines.push(`  not decided: ${undecided}`)
    lines.push("")
  }
  lines.push(summary(compared), ...unselectedLines(compared), ...inputLines(read))
  return lines.join("\n")
}

export function diffMarkdown(compared: Compared): string {
  const { diff, workloads: all, names, broken, read, touched } = compared
  const lines = ["### What these policies change", "", summary(compared), ""]
  lines.push(...[...unselectedLines(compared), ...inputLines(read)].map(line => `- ${cell(line)}`), "")
  for (const one of broken) lines.push(`- **broken**: ${cell(describeViolation(one))}`)
  if (broken.length > 0) lines.push("")
  for (const group of diff.groups) {
    lines.push(`**${cell(headline(group))}**`, "")
    const { changes, undecided } = group.comparison
    const [head, rule] = touched === undefined ? ["", ""] : [" recorded calls |", "---|"]
    if (changes.length > 0) lines.push(`| | requests | until now |${head}`, `|---|---|---|${rule}`)
    for (const change of changes) {
      const { from, to, region } = change
      const calls = touched && recordedOf(touched, group.workloads, from, to).calls
      lines.push(`| ${newly(change)} | ${cell(region)} | ${was(change)} |${calls === undefined ? "" : ` ${calls} |`}`)
    }
    if (changes.length > 0) lines.push("")
    if (undecided !== undefined) lines.push(`Not decided: ${cell(undecided)}`, "")
    for (const { witness } of changes) lines.push("```sh", callLine(witness, all, names), "```", "")
  }
  return lines.join("\n").trimEnd()
}

function recordedWords({ shapes, calls }: Pick<TouchedCalls, "shapes" | "calls">): string {
  if (shapes === 0) return "no recorded call is affected"
  return `recorded calls affected: ${calls} of ${counted(shapes, "shape")}`
}

/** A pipe would end the table cell, and a tag would be interpreted as HTML. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("\n", " ")
}

const MAX_NAMES = 5

function headline({ workloads }: DiffGroup): string {
  const names = workloads.slice(0, MAX_NAMES).map(nameOf)
  const more = workloads.length - names.length
  return `${counted(workloads.length, "workload")}: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

const unselectedLines = ({ unselected = [] }: Compared): readonly string[] =>
  unselected.map(what => `note: ${visible(what)}`)

function summary({ diff: { result, groups }, workloads: all, unselected = [], read }: Compared): string {
  const workloads = all.length
  const changed = groups.filter(({ comparison }) => comparison.changes.length > 0)
  const touched = changed.reduce((sum, group) => sum + group.workloads.length, 0)
  switch (result) {
    case "equal":
      if (!isComplete(read)) return `not decided: no difference was found, and ${NOT_ALL_READ}`
      return `nothing changes${unselected.length > 0 ? " among the workloads read" : ""}: every request to ${workloads === 1 ? "the workload" : `the ${workloads} workloads`} is decided as before (proved)`
    case "different": {
      const undecided = groups.some(({ comparison }) => comparison.undecided !== undefined)
      const rest = undecided
        ? "; there may be more, see `not decided`"
        : isComplete(read)
          ? `; nothing else changes${unselected.length > 0 ? " among the workloads read" : ""} (proved)`
          : `; there may be more: ${NOT_ALL_READ}`
      return `${touched} of ${counted(workloads, "workload")} ${touched === 1 ? "decides" : "decide"} some requests differently${rest}`
    }
    case "undecided":
      return "not decided: no difference was found, and none is excluded"
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`
}

function nameOf({ namespace, name }: ProofWorkload): string {
  return `${namespace}/${name}`
}
