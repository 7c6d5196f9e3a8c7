// SPDX-License-Identifier: Apache-2.0
// Policy changes as text: one line for each change, followed by what it newly allowed and denied.

import type { CertificateNote, HistoryEntry } from "@merlon/control/history"
import { type Change, describeWitness, type EffectRegion } from "@merlon/policy/proof"
import { newly, was } from "../answers/diff-report.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { visible } from "../terminal.js"
import { entryName } from "./stored-certificates.js"

/** Oldest first, like a log. */
export function historyText(entries: readonly HistoryEntry[]): string {
  return entries.map(entry => lines(entry).join("\n")).join("\n")
}

function lines(entry: HistoryEntry): readonly string[] {
  const { time, user, operation, kind, namespace, name, generation, difference, certificate } = entry
  const { allowed, denied, undecided } = difference
  const who = user === undefined ? "one of several users" : user
  const what = operation === "delete" ? "" : ` (generation ${generation})`
  const effects = [
    ...allowed.map(region => `  newly allowed: ${regionText(region)}`),
    ...denied.map(region => `  newly denied:  ${regionText(region)}`),
    ...(undecided === undefined ? [] : [`  not decided: ${visible(undecided)}`]),
  ]
  return [
    `${time}  ${visible(who)} ${PAST[operation]} ${kind} ${visible(`${namespace}/${name}`)}${what}`,
    ...(effects.length > 0 ? effects : ["  decides every request as before (proved)"]),
    ...(certificate === undefined ? [] : [`  entry ${entryName(entry)}, ${certificateText(certificate)}`]),
  ]
}

function certificateText(note: CertificateNote): string {
  return "missing" in note ? visible(`no certificate: ${note.missing}`) : `certificate of ${note.size} bytes`
}

const PAST: Readonly<Record<HistoryEntry["operation"], string>> = {
  create: "created",
  update: "updated",
  delete: "deleted",
}

function regionText({ region, workloads, more = 0 }: EffectRegion): string {
  const others = more > 0 ? ` and ${more} more` : ""
  return visible(`${region}, on ${workloads.join(", ")}${others}`)
}

export interface ComparedMoments {
  readonly result: "equal" | "different" | "undecided"
  readonly groups: readonly ComparedGroup[]
  /** Why the policies at one of the moments are unknown. */
  readonly gaps: readonly string[]
  readonly workloads: number
}

interface ComparedGroup {
  readonly workloads: readonly string[]
  readonly changes: readonly Change[]
  readonly undecided: string | undefined
}

/** Parses the control plane's answer. */
export function comparedMoments(status: unknown): ComparedMoments {
  const { result, groups, gaps, read } = fieldsOf(status)
  const { workloads } = fieldsOf(read)
  return {
    // Fail closed: an answer that cannot be read proves nothing.
    result: result === "equal" || result === "different" ? result : "undecided",
    groups: listOf(groups).map(group => {
      const { workloads: names, changes, undecided } = fieldsOf(group)
      return {
        workloads: listOf(names).flatMap(name => textOf(name) ?? []),
        changes: listOf(changes) as readonly Change[], // our control plane writes them
        undecided: textOf(undecided),
      }
    }),
    gaps: listOf(gaps).flatMap(gap => textOf(gap) ?? []),
    workloads: typeof workloads === "number" ? workloads : 0,
  }
}

const MAX_NAMES = 5

export function comparedText({ result, groups, gaps, workloads }: ComparedMoments, from: string, to: string): string {
  const report: string[] = []
  for (const { workloads: names, changes, undecided } of groups) {
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ""
    report.push(visible(`${names.slice(0, MAX_NAMES).join(", ")}${more}`))
    for (const change of changes) {
      report.push(
        `  ${newly(change)}, before ${was(change)}:`,
        `    ${visible(change.region)}`,
        `    for example: ${visible(describeWitness(change.witness))}`,
      )
    }
    if (undecided !== undefined) report.push(`  not decided: ${visible(undecided)}`)
    report.push("")
  }
  report.push(...gaps.map(gap => `not known: ${visible(gap)}`))
  const count = `${workloads} ${workloads === 1 ? "workload" : "workloads"}`
  const summary = {
    equal: `nothing changed: every request to ${count} is decided as before (proved)`,
    different: groups.some(({ undecided }) => undecided !== undefined)
      ? "some requests are decided differently; there may be more, see `not decided`"
      : "some requests are decided differently; nothing else changed (proved)",
    undecided: "not decided: no difference was found, and none is excluded",
  }[result]
  report.push(`${from} to ${to}, for workloads that run now: ${summary}`)
  return report.join("\n")
}
