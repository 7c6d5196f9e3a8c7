// SPDX-License-Identifier: Apache-2.0
// The classes of texts that a list of patterns distinguishes, each with its shortest text. All patterns run together over
// every text of a language, and states that were visited are not visited again. Exact by construction, since a text's
// class is the set of patterns that accept it.

import { isUriPath } from "../../authorization/path-template.js"
import type { Budget } from "../budget.js"
import type { Language } from "./language.js"
import { type Fitting, fits, type Step } from "./steps.js"

export interface TextClass {
  /** Positions in the list of patterns, in order. */
  readonly matched: readonly number[]
  readonly text: string
}

interface Visit {
  readonly positions: readonly number[]
  readonly language: number
  readonly before: Visit | undefined
  readonly unit: string
}

/** `preferred` texts represent their class instead of the shortest text. */
export function textClasses(
  patterns: readonly (readonly Step[])[],
  language: Language,
  preferred: readonly string[],
  budget: Budget,
): readonly TextClass[] {
  const machine = new Machine(patterns)
  const classes = new Map<string, TextClass>()
  const file = (positions: readonly number[], text: () => string): void => {
    const matched = machine.accepted(positions)
    const key = matched.join()
    if (!classes.has(key)) classes.set(key, { matched, text: text() })
  }
  for (const text of preferred) {
    const end = machine.run(text, language)
    if (end !== undefined) file(end, () => text)
  }

  const first: Visit = { positions: machine.start(), language: language.start, before: undefined, unit: "" }
  const seen = new Set([keyOf(first)])
  let visits: Visit[] = [first]
  while (visits.length > 0) {
    const next: Visit[] = []
    for (const visit of visits) {
      budget.spend(1 + visit.positions.length)
      if (language.accepts(visit.language)) file(visit.positions, () => textOf(visit))
      for (const unit of machine.units(visit.positions, visit.language, language)) {
        const state = language.step(visit.language, unit)
        if (state === undefined) continue
        const reached = { positions: machine.step(visit.positions, unit), language: state, before: visit, unit }
        const key = keyOf(reached)
        if (seen.has(key)) continue
        seen.add(key)
        next.push(reached)
      }
    }
    visits = next
  }
  return [...classes.values()]
}

function keyOf({ positions, language }: Visit): string {
  return `${language}:${positions.join()}`
}

function textOf(visit: Visit): string {
  let text = ""
  for (let at: Visit | undefined = visit; at !== undefined; at = at.before) text = at.unit + text
  return text
}

/** A position is a step of a pattern that is still to be taken; after the last step the pattern has matched. */
class Machine {
  readonly #steps: (Step | undefined)[] = []
  /** By position: the pattern that ends there, or -1. */
  readonly #ends: number[] = []
  readonly #starts: number[] = []

  constructor(patterns: readonly (readonly Step[])[]) {
    for (const [index, steps] of patterns.entries()) {
      this.#starts.push(this.#steps.length)
      for (const step of steps) {
        this.#steps.push(step)
        this.#ends.push(-1)
      }
      this.#steps.push(undefined)
      this.#ends.push(index)
    }
  }

  start(): readonly number[] {
    const reached = new Set<number>()
    for (const position of this.#starts) this.#enter(position, reached)
    return sorted(reached)
  }

  step(positions: readonly number[], unit: string): readonly number[] {
    const reached = new Set<number>()
    for (const position of positions) {
      const step = this.#steps[position]
      if (step !== undefined && fits(step.fits, unit)) this.#enter(step.many ? position : position + 1, reached)
    }
    return sorted(reached)
  }

  run(text: string, language: Language): readonly number[] | undefined {
    let positions = this.start()
    let state: number | undefined = language.start
    for (let at = 0; at < text.length && state !== undefined; at++) {
      positions = this.step(positions, text.charAt(at))
      state = language.step(state, text.charAt(at))
    }
    return state !== undefined && language.accepts(state) ? positions : undefined
  }

  accepted(positions: readonly number[]): readonly number[] {
    const matched: number[] = []
    for (const position of positions) {
      const end = this.#ends[position] ?? -1
      if (end >= 0) matched.push(end)
    }
    return matched.sort((a, b) => a - b)
  }

  /** Every character that something here distinguishes, and one character that nothing distinguishes. */
  units(positions: readonly number[], state: number, language: Language): Iterable<string> {
    const named = new Set<string>(unitsOf(language.units(state)))
    const fittings = positions.map(position => this.#steps[position]?.fits)
    for (const fitting of fittings) {
      if (fitting === "segment" || fitting === "uri segment") named.add("/")
      else if (typeof fitting === "object") for (const unit of unitsOf(fitting.of)) named.add(unit)
    }
    // The texts that match no pattern are a class too, so a filler is tried even if no pattern matches it.
    const kinds = fittings.some(isOfUri) ? [isUriPath, (unit: string) => !isUriPath(unit)] : [() => true]
    const fillers = kinds.map(isOfKind => fillerOf(named, state, language, isOfKind))
    for (const filler of fillers) if (filler !== undefined) named.add(filler)
    return named
  }

  /** A step that may match nothing also enters the position after it. */
  #enter(position: number, reached: Set<number>): void {
    for (let at = position; !reached.has(at); at++) {
      reached.add(at)
      if (this.#steps[at]?.many !== true) return
    }
  }
}

const isOfUri = (fitting: Fitting | undefined): boolean => fitting === "uri" || fitting === "uri segment"

function fillerOf(
  named: ReadonlySet<string>,
  state: number,
  language: Language,
  isOfKind: (unit: string) => boolean,
): string | undefined {
  for (const unit of language.fillers) {
    if (unit !== "/" && !named.has(unit) && isOfKind(unit) && language.step(state, unit) !== undefined) return unit
  }
  return undefined
}

/** By code unit, as patterns are compared. */
function* unitsOf(text: string): Iterable<string> {
  for (let at = 0; at < text.length; at++) yield text.charAt(at)
}

function sorted(positions: Set<number>): readonly number[] {
  return [...positions].sort((a, b) => a - b)
}
