// SPDX-License-Identifier: Apache-2.0
// Observations as tables.

import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { Columns } from "../output/columns.js"
import { visible } from "../terminal.js"
import { age } from "../workload/age.js"
import type { Observation, ObservedList } from "./answers-api.js"

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return new Columns().format([head, ...rows.map(row => row.map(visible))]).trimEnd()
}

export const ago = (time: unknown, now: number): string =>
  textOf(time) === undefined ? "-" : `${age(textOf(time) ?? "", now)} ago`

export function rulesText({ items, notes }: ObservedList, now: number): string {
  const watched = ago(notes.watchedSince, now)
  if (items.length === 0) return `no matching rules; calls recorded since ${watched}`
  const rows = items.map(({ spec }) => [
    textOf(spec.policy) ?? "",
    textOf(spec.field) ?? "",
    [textOf(spec.action) ?? textOf(spec.kind) ?? "", spec.enforcement === "Shadow" ? "(Shadow)" : ""].join(" ").trim(),
    shown(spec.count),
    spec.count === 0 ? "never" : ago(spec.lastSeen, now),
    ago(spec.watchedSince, now),
  ])
  return table(["POLICY", "RULE", "ACTION", "USED", "LAST", "OBSERVED SINCE"], rows)
}

/** The remaining lifetime of a certificate. */
export function leftOf(notAfter: unknown, now: number): string {
  const end = Date.parse(textOf(notAfter) ?? "")
  if (Number.isNaN(end)) return "-"
  return end <= now ? "ended" : `${age(new Date(now).toISOString(), end)} left`
}

export function proxiesText({ items }: ObservedList, now: number, skipped: readonly string[] = []): string {
  if (items.length === 0) return withSkipped("no proxy is connected", skipped)
  const rows = items.map(({ namespace, name, spec }) => [
    `${namespace}/${name}`,
    `${age(textOf(spec.connectedAt) ?? "", now)}`,
    shown(spec.revision),
    leftOf(spec.certificateNotAfter, now),
    stateOf(spec),
  ])
  return withSkipped(table(["PROXY", "CONNECTED", "REVISION", "CERTIFICATE", "STATE"], rows), skipped)
}

function withSkipped(text: string, skipped: readonly string[]): string {
  return [text, ...skipped.map(what => `skipped: ${visible(what)}`)].join("\n")
}

export function stateOf({ behind, lagMs, rejection }: Fields): string {
  if (textOf(rejection) !== undefined) return `rejected an update: ${textOf(rejection)}`
  if (typeof behind !== "number" || behind === 0) return "up to date"
  return `${behind} ${behind === 1 ? "resource" : "resources"} behind for ${Math.ceil(Number(lagMs) / 1000)} s`
}

export const shown = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "-"

/** Whether every proxy enforces its latest revision. */
export function isUpToDate({ spec }: Observation): boolean {
  return spec.behind === 0 && spec.rejection === undefined
}

export function readinessText({ items }: ObservedList, now: number, skipped: readonly string[] = []): string {
  if (items.length === 0) {
    return withSkipped("no workload takes calls there; `-n` asks another namespace, `-A` all of them", skipped)
  }
  const rows = items.map(({ namespace, name, spec }) => [
    `${namespace}/${name}`,
    listOf(spec.ports)
      .map(fieldsOf)
      .map(({ port, mode }) => `${shown(port)} ${shown(mode)}`)
      .join(", "),
    shown(spec.calls),
    observedText(spec, now),
    textOf(spec.state) ?? "",
    textOf(spec.why) ?? "",
  ])
  const callers = items.flatMap(({ namespace, name, spec }) =>
    listOf(spec.plaintext)
      .map(fieldsOf)
      .map(({ port, from, address, count, firstSeen, lastSeen, advice }) => [
        `${namespace}/${name}`,
        shown(port),
        from === address ? shown(address) : `${shown(from)} (${shown(address)})`,
        shown(count),
        ago(firstSeen, now),
        ago(lastSeen, now),
        shown(advice),
      ]),
  )
  const summary = table(["WORKLOAD", "PORTS", "CALLS", "OBSERVED", "STRICT", "WHY"], rows)
  if (callers.length === 0) return withSkipped(summary, skipped)
  return `${withSkipped(summary, skipped)}\n\nWho calls in plaintext:\n${table(["WORKLOAD", "PORT", "FROM", "CALLS", "FIRST", "LAST", "UNDER STRICT"], callers)}`
}

/** The observed part of the window. */
function observedText({ observedSince, windowStart }: Fields, now: number): string {
  const [since, start] = [textOf(observedSince), textOf(windowStart)]
  if (start === undefined) return "-"
  // Both are RFC 3339 in UTC.
  const observed = since === undefined ? "0s" : age([since, start].sort().at(-1) ?? start, now)
  return `${observed} of ${age(start, now)}`
}
