// SPDX-License-Identifier: Apache-2.0
// A pattern as the steps of a small automaton: each step takes one character of a set, once or any number of times. Every
// kind of pattern in a policy is such a sequence, so one automaton finds the classes of all of them.

import { isUriPath, type PathTemplate } from "../../authorization/path-template.js"
import type { Pattern } from "../../authorization/pattern.js"

/** The characters that match: some, any, any but the slash, or those of these that an Istio template matches. */
export type Fitting = { readonly of: string } | "any" | "segment" | "uri" | "uri segment"

export interface Step {
  readonly fits: Fitting
  readonly many: boolean
}

export const REST: Step = { fits: "any", many: true }
export const SEGMENT_REST: Step = { fits: "segment", many: true }

export function literal(text: string, ignoreCase = false): readonly Step[] {
  // By UTF-16 code unit, as the evaluator compares.
  return Array.from({ length: text.length }, (_, at) => {
    const unit = text.charAt(at)
    const other = unit.toUpperCase()
    const of = ignoreCase && other.toLowerCase() === unit ? [...new Set([unit, other])].join("") : unit
    return { fits: { of }, many: false }
  })
}

export interface Reading {
  /** Whether `*` matches an empty text. */
  readonly emptyIsPresent?: boolean
  readonly ignoreCase?: boolean
  /** What a star represents: any text by default. */
  readonly star?: Step
}

export function stepsOf(pattern: Pattern, { emptyIsPresent, ignoreCase, star = REST }: Reading = {}): readonly Step[] {
  switch (pattern.kind) {
    case "exact":
      return literal(pattern.text, ignoreCase)
    case "prefix":
      return [...literal(pattern.text, ignoreCase), star]
    case "suffix":
      return [star, ...literal(pattern.text, ignoreCase)]
    case "present":
      return emptyIsPresent ? [star] : [{ ...star, many: false }, star]
    case "template":
      return templateSteps(pattern.template, pattern.ofUri)
    case "stars":
      return pattern.pieces.flatMap((piece, at) => [...(at === 0 ? [] : [star]), ...literal(piece)])
  }
}

function templateSteps({ head, tail }: PathTemplate, ofUri: boolean): readonly Step[] {
  const steps: Step[] = []
  const inSegment = ofUri ? "uri segment" : "segment"
  for (const segment of head) {
    steps.push(...literal("/"))
    if (segment === "one") steps.push({ fits: inSegment, many: false }, { fits: inSegment, many: true })
    else steps.push(...literal(segment.literal))
  }
  if (tail !== undefined) steps.push(...literal("/"), { fits: ofUri ? "uri" : "any", many: true }, ...literal(tail))
  return steps
}

export function fits(fitting: Fitting, unit: string): boolean {
  switch (fitting) {
    case "any":
      return true
    case "segment":
      return unit !== "/"
    case "uri":
      return isUriPath(unit)
    case "uri segment":
      return unit !== "/" && isUriPath(unit)
    default:
      return fitting.of.includes(unit)
  }
}

/** Whether the steps match the whole text. */
export function takes(steps: readonly Step[], text: string): boolean {
  const follow = (at: number, unit: number): boolean => {
    const step = steps[at]
    if (step === undefined) return unit === text.length
    if (step.many) {
      if (follow(at + 1, unit)) return true
      return unit < text.length && fits(step.fits, text.charAt(unit)) && follow(at, unit + 1)
    }
    return unit < text.length && fits(step.fits, text.charAt(unit)) && follow(at + 1, unit + 1)
  }
  return follow(0, 0)
}
