// SPDX-License-Identifier: Apache-2.0
// Texts and patterns (docs/semantics.md, "How values match"). A pattern is a list of steps, each of which matches
// characters.

import { Invalid, spend } from "./read.js"

/** One character of `of`, or with `not` any other; with `many` any number of them, including none. */
interface Step {
  readonly of: string
  readonly not: boolean
  readonly many: boolean
}

/** Patterns with equal keys match the same texts. */
export interface Pattern {
  readonly key: string
  readonly steps: readonly Step[]
}

export const one = (of: string): Step => ({ of, not: false, many: false })
export const many = (of: string): Step => ({ of, not: false, many: true })
export const other = (of: string): Step => ({ of, not: true, many: false })
export const others = (of: string): Step => ({ of, not: true, many: true })
export const REST = others("")

export function pattern(...steps: readonly Step[]): Pattern {
  const keys = steps.map(({ of, not, many }) => `${not ? "^" : ""}${JSON.stringify(of)}${many ? "*" : ""}`)
  return { key: keys.join(""), steps }
}

export const literal = (text: string): readonly Step[] => text.split("").map(one)
const anyCase = (text: string): readonly Step[] =>
  literal(text.toLowerCase()).map(({ of: char }) => {
    const upper = char.toUpperCase()
    return one(upper !== char && upper.toLowerCase() === char ? char + upper : char)
  })

/**
 * `*`, `v*`, `*v` or `v`; a leading star takes precedence. `empty`: `*` matches an empty text. A star matches no
 * character of `but`.
 */
export function wildcard(value: string, { empty = false, ignoreCase = false, but = "" } = {}): readonly Step[] {
  const spell = ignoreCase ? anyCase : literal
  if (value === "*") return empty ? [others(but)] : [other(but), others(but)]
  if (value.startsWith("*")) return [others(but), ...spell(value.slice(1))]
  return value.endsWith("*") ? [...spell(value.slice(0, -1)), others(but)] : spell(value)
}

export function pathPattern(value: string): Pattern {
  if (value === "/*" || value === "/{**}") return pattern(...wildcard("*"))
  if (!value.includes("{*}") && !value.includes("{**}")) return pattern(...wildcard(value))
  const segments = value.slice(1).split("/")
  return pattern(
    ...segments.flatMap(segment => {
      if (segment === "{*}") return [one("/"), other("/"), others("/")]
      return segment === "{**}" ? [one("/"), REST] : literal(`/${segment}`)
    }),
  )
}

/** Runs patterns in parallel. A state is the list of positions reached in them. */
class Machine {
  /** A number marks the end of the pattern with that index. */
  readonly #steps: (Step | number)[] = []
  readonly start: readonly number[]

  constructor(patterns: readonly Pattern[]) {
    const starts: number[] = []
    for (const [index, { steps }] of patterns.entries()) {
      spend(steps.length)
      starts.push(this.#steps.length)
      for (const step of steps) this.#steps.push(step)
      this.#steps.push(index)
    }
    this.start = this.#closed(starts)
  }

  /** Adds the positions after steps that may match nothing. */
  #closed(positions: readonly number[]): readonly number[] {
    const all = new Set<number>()
    for (let at of positions) {
      for (; !all.has(at); at++) {
        all.add(at)
        const step = this.#steps[at]
        if (typeof step !== "object" || !step.many) break
      }
    }
    return [...all].sort((a, b) => a - b)
  }

  next(state: readonly number[], char: string): readonly number[] {
    spend(1 + state.length)
    const reached = state.flatMap(at => {
      const step = this.#steps[at]
      return typeof step === "object" && step.of.includes(char) !== step.not ? [step.many ? at : at + 1] : []
    })
    return this.#closed(reached)
  }

  matched(state: readonly number[]): readonly number[] {
    return state.flatMap(at => (typeof this.#steps[at] === "number" ? [this.#steps[at]] : []))
  }

  /** Every character that some position distinguishes, and one that none does. */
  characters(state: readonly number[]): Iterable<string> {
    const named = new Set<string>()
    for (const at of state) {
      const step = this.#steps[at]
      if (typeof step === "object") for (const char of step.of) named.add(char)
    }
    let filler = 0xe000
    while (named.has(String.fromCharCode(filler))) filler++
    return named.add(String.fromCharCode(filler))
  }
}

const machines = new Map<string, Machine>()

export function takes(pattern: Pattern, text: string): boolean {
  const machine = machines.get(pattern.key) ?? new Machine([pattern])
  machines.set(pattern.key, machine)
  return machine.matched(text.split("").reduce((state, char) => machine.next(state, char), machine.start)).length > 0
}

/** The texts that an attribute can have: those that match one of `within` and none of `without`. */
export interface Language {
  readonly within: readonly Pattern[]
  readonly without: readonly Pattern[]
}

const MAX_STATES = 400_000

/**
 * One text of the language for each set of patterns that some text matches. It runs the patterns over every text. What
 * follows depends only on the state, and a character that nothing in the state names represents all such characters.
 */
export function classesOf(patterns: readonly Pattern[], { within, without }: Language): readonly string[] {
  const all = new Machine([...patterns, ...within, ...without])
  const language = new Machine(within)
  // If such a pattern matches a text, it matches every continuation.
  const lasting = without.flatMap((one, at) => (one.steps.at(-1) === REST ? patterns.length + within.length + at : []))
  const lost = new Set(lasting)
  const found = new Map<string, string>()
  const seen = new Set<string>()
  const open = [{ state: all.start, inside: language.start, text: "" }]
  for (const { state, inside, text } of open) {
    const matched = all.matched(state)
    const last = matched.at(-1) ?? -1
    if (last >= patterns.length && last < patterns.length + within.length) {
      const key = matched.filter(index => index < patterns.length).join()
      if (!found.has(key)) found.set(key, text)
    }
    for (const char of all.characters(state)) {
      const next = { state: all.next(state, char), inside: language.next(inside, char), text: text + char }
      const key = next.state.join()
      if (next.inside.length > 0 && !seen.has(key) && !all.matched(next.state).some(index => lost.has(index))) {
        if (seen.add(key).size > MAX_STATES)
          throw new Invalid("the values of an attribute have too many classes to check")
        open.push(next)
      }
    }
  }
  return [...found.values()]
}
