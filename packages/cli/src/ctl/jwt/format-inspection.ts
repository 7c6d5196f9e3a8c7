// SPDX-License-Identifier: Apache-2.0
// Formats an inspected token for people: times as dates with their distance, the verdict last.

import { paint, visible } from "../terminal.js"
import type { Inspection, Verdict } from "./inspection.js"

const TIMES = new Set(["exp", "nbf", "iat", "auth_time", "updated_at"])
const STEPS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const

/** `now` in seconds. */
export function formatInspection({ header, claims, outcome }: Inspection, now: number): string {
  return [
    ...section("header", header, now),
    ...section("claims", claims, now),
    `${paint.bold("verdict")}\n  ${verdictText(outcome)}\n`,
  ].join("")
}

export function distance(seconds: number): string {
  const size = Math.abs(Math.round(seconds))
  const first = STEPS.findIndex(([, length]) => size >= length)
  if (first === -1) return "now"
  let rest = size
  const parts = STEPS.slice(first, first + 2).flatMap(([unit, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return count === 0 ? [] : [`${count}${unit}`]
  })
  return seconds < 0 ? `${parts.join("")} ago` : `in ${parts.join("")}`
}

function section(title: string, fields: { readonly [name: string]: unknown } | undefined, now: number): string[] {
  if (fields === undefined) return [`${paint.bold(title)}\n  cannot be read\n`]
  const names = Object.keys(fields)
  const width = Math.max(...names.map(name => visible(name).length), 0)
  return [
    `${paint.bold(title)}\n`,
    ...names.map(name => `  ${visible(name).padEnd(width)}  ${valueText(name, fields[name], now)}\n`),
  ]
}

function valueText(name: string, value: unknown, now: number): string {
  const text = visible(typeof value === "string" ? value : JSON.stringify(value))
  const date = typeof value === "number" && TIMES.has(name) ? new Date(value * 1000) : undefined
  if (date === undefined || Number.isNaN(date.getTime())) return text
  return `${text}  ${date.toISOString().replace(".000", "")}, ${distance(Number(value) - now)}`
}

function verdictText(outcome: Verdict): string {
  switch (outcome.verdict) {
    case "valid":
      return paint.green("valid")
    case "unchecked":
      return paint.yellow("the signature was not checked; `--jwks FILE` or `--jwks URL` checks it")
    case "rejected":
      return `${paint.red("denied")} with ${outcome.status}: ${outcome.reason} (${outcome.error})`
  }
}
