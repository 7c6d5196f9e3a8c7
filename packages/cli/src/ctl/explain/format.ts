// SPDX-License-Identifier: Apache-2.0
// Formats an explanation for people.

import { ruleName } from "@merlon/policy/authorization"
import type { PolicyEdit } from "@merlon/policy/trial"
import { paint, visible } from "../terminal.js"
import type { Explanation } from "./explanation.js"

const MARKS = { passed: "✓", denied: "✗", depends: "?", "not reached": "·" } as const
const WIDTH = "transport".length

export function explanationText(explanation: Explanation): string {
  const { verdict, status, body, stages, shadow, change, token } = explanation
  const lines = [headline(verdict, status, body), ""]
  for (const { stage, outcome, why } of stages) {
    const mark = outcome === "denied" ? paint.red(MARKS[outcome]) : MARKS[outcome]
    lines.push(
      `  ${mark} ${stage.padEnd(WIDTH)}  ${outcome === "not reached" ? paint.dim("not reached") : visible(why)}`.trimEnd(),
    )
  }
  if (shadow !== undefined) lines.push("", `With shadow policies enforced, it would be ${SHADOW[shadow]}.`)
  if (token !== undefined) lines.push("", ...token.map(visible))
  if (change !== undefined) {
    lines.push("", "The smallest change that would allow it, tried:", ...changeLines(change))
  }
  return lines.join("\n")
}

const SHADOW = { allow: "allowed", deny: "denied", depends: "allowed unless a provider denies it" } as const

export function changeLines(change: readonly PolicyEdit[]): readonly string[] {
  return change.map(({ rule, at, change: what, value }) => {
    const preposition = what === "add" ? "to" : "from"
    return `  ${what} \`${visible(value)}\` ${preposition} ${at} of ${ruleName(rule).replace(/\[\d+\]$/, "")}`
  })
}

function headline(verdict: Explanation["verdict"], status: number | undefined, body: string | undefined): string {
  if (verdict === "allow") return paint.green("allowed")
  if (verdict === "depends") return "allowed unless a provider denies it"
  if (status === undefined) return paint.red("denied: the connection is closed without a reply")
  return paint.red(`denied: ${status}${body === undefined || body === "" ? "" : ` ${body}`}`)
}
