// SPDX-License-Identifier: Apache-2.0
// The syntax of Traffic's search box: `verdict:deny caller:shop/* -path:/health`. A word without a field is a path, or a
// workload if it looks like one. Completions come from the shown traffic.

import type { Answer, Decision } from "../../api/answers.js"
import { callerName } from "../../ui/names.js"
import { TRAITS, type Trait, type Wanted } from "./decision-filter.js"

export interface Typed {
  readonly wanted: readonly Wanted[]
  /** Words before a colon that are not fields. */
  readonly unknown: readonly string[]
}

const MOST_COMPLETIONS = 8
const VERDICTS: Readonly<Record<string, string>> = { allowed: "allow", denied: "deny" }

export function typedFilters(text: string): Typed {
  const words = text.split(/\s+/).filter(word => word !== "")
  const read = words.map(filterOf)
  return {
    wanted: read.flatMap(one => (typeof one === "string" || one.pattern === "" ? [] : [one])),
    unknown: read.flatMap(one => (typeof one === "string" ? [one] : [])),
  }
}

function filterOf(word: string): Wanted | string {
  const not = word.startsWith("-")
  const [, field, rest] = /^-?([A-Za-z]+):(.*)$/.exec(word) ?? []
  if (field !== undefined && rest !== undefined) {
    const trait = TRAITS.find(one => one === field.toLowerCase())
    return trait === undefined ? field : { trait, not, pattern: patternOf(trait, rest) }
  }
  const bare = not ? word.slice(1) : word
  if (bare.startsWith("/") || bare.includes("*")) return { trait: "path", not, pattern: bare }
  return bare.includes("/")
    ? { trait: "workload", not, pattern: `${bare}*` }
    : { trait: "path", not, pattern: `*${bare}*` }
}

function patternOf(trait: Trait, value: string): string {
  return trait === "verdict" ? (VERDICTS[value] ?? value) : value
}

export type KnownValues = Readonly<Record<Trait, readonly string[]>>

export function knownValues(decisions: readonly Answer<Decision>[]): KnownValues {
  const all = (of: (decision: Decision) => string | undefined): readonly string[] =>
    [...new Set(decisions.map(({ spec }) => of(spec) ?? ""))].filter(value => value !== "").sort()
  return {
    verdict: ["allow", "deny"],
    workload: all(({ workload }) => workload),
    caller: all(({ peer }) => (peer === undefined ? undefined : callerName(peer))),
    policy: all(({ rule }) => rule?.replace(/\[.*$/, "")),
    path: all(({ path }) => path),
  }
}

/** Completions of the last word of `text`, each as the whole text. */
export function completionsOf(text: string, known: KnownValues): readonly string[] {
  const start = text.replace(/\S*$/, "")
  const word = text.slice(start.length)
  const sign = word.startsWith("-") ? "-" : ""
  const [field = "", value] = word.slice(sign.length).split(/:(.*)/)
  const trait = TRAITS.find(one => one === field.toLowerCase())
  const contains = (one: string, part: string): boolean => one.toLowerCase().includes(part.toLowerCase())
  const found =
    value !== undefined && trait !== undefined
      ? known[trait].filter(one => contains(one, value) && one !== value).map(one => `${trait}:${one}`)
      : [
          ...TRAITS.filter(one => one.startsWith(field.toLowerCase())).map(one => `${one}:`),
          ...(field === ""
            ? []
            : TRAITS.flatMap(one => known[one].filter(each => contains(each, field)).map(each => `${one}:${each}`))),
        ]
  return found.slice(0, MOST_COMPLETIONS).map(one => `${start}${sign}${one}`)
}
