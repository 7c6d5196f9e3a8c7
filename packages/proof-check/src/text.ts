// SPDX-License-Identifier: Apache-2.0
// Texts and patterns (docs/semantics.md, "How values match"). A pattern is a list of steps; each takes one character of a
// set, once or any number of times. A language says which texts an attribute can have.

import { Invalid } from "./read.js"

/** `of`: the characters that fit. "any" fits every one, "segment" every one but the slash. */
export type Step = { readonly of: string; readonly many: boolean }
export type Steps = readonly Step[]

const one = (of: string): Step => ({ of, many: false })
const many = (of: string): Step => ({ of, many: true })
const isSet = (of: string): boolean => of === "any" || of === "segment"
const fits = (of: string, char: string): boolean =>
  of === "any" || (of === "segment" ? char !== "/" : of.includes(char))

/** A set of characters that is spelled like one of the names would be mistaken for it; no pattern makes one. */
export const literal = (text: string, anyCase = false): Steps =>
  text.split("").map(char => {
    const upper = char.toUpperCase()
    return one(anyCase && upper !== char && upper.toLowerCase() === char ? char + upper : char)
  })

/** `*`, `v*`, `*v` or `v`. A leading star is looked at first. `empty`: whether `*` takes an empty text. */
export function wildcard(value: string, { empty = false, anyCase = false, star = "any" } = {}): Steps {
  if (value === "*") return empty ? [many(star)] : [one(star), many(star)]
  if (value.startsWith("*")) return [many(star), ...literal(value.slice(1), anyCase)]
  if (value.endsWith("*")) return [...literal(value.slice(0, -1), anyCase), many(star)]
  return literal(value, anyCase)
}

export function pathPattern(value: string): Steps {
  if (value === "/*" || value === "/{**}") return wildcard("*")
  if (!value.includes("{*}") && !value.includes("{**}")) return wildcard(value)
  return value
    .slice(1)
    .split("/")
    .flatMap(segment => {
      if (segment === "{*}") return [one("/"), one("segment"), many("segment")]
      return segment === "{**}" ? [one("/"), many("any")] : literal(`/${segment}`)
    })
}

/** Stars anywhere, of which none takes a slash: a namespace of an identity. */
export function namespacePattern(value: string): Steps {
  const pieces = value.split("*")
  const name = pieces.some(piece => piece !== "")
    ? pieces.flatMap((piece, at) => [...(at > 0 ? [many("segment")] : []), ...literal(piece)])
    : [one("segment"), many("segment")]
  return [one("segment"), many("segment"), ...literal("/ns/"), ...name, ...literal("/sa/"), many("any")]
}

export const trustDomainPattern = (value: string): Steps => [
  ...wildcard(value, { star: "segment" }),
  ...literal("/ns/"),
  many("any"),
]

export const accountPattern = (value: string): Steps => {
  const slash = value.indexOf("/")
  const name = `/ns/${value.slice(0, slash)}/sa/${value.slice(slash + 1)}`
  return [one("segment"), many("segment"), ...literal(name)]
}

/** The steps that may be next; a step that may be taken no times is also behind itself. */
function enter(steps: Steps, at: number, into: Set<number>): void {
  for (let next = at; !into.has(next); next++) {
    into.add(next)
    if (steps[next]?.many !== true) return
  }
}

function advance(steps: Steps, from: Iterable<number>, char: string): Set<number> {
  const into = new Set<number>()
  for (const at of from) {
    const step = steps[at]
    if (step !== undefined && fits(step.of, char)) enter(steps, step.many ? at : at + 1, into)
  }
  return into
}

function begin(steps: Steps): Set<number> {
  const into = new Set<number>()
  enter(steps, 0, into)
  return into
}

export function takes(steps: Steps, text: string): boolean {
  let now = begin(steps)
  for (const char of text.split("")) now = advance(steps, now, char)
  return now.has(steps.length)
}

/** A state, as text: "" is the start. Undefined where no text of the language goes on so. */
export interface Language {
  step(state: string, char: string): string | undefined
  accepts(state: string): boolean
  /** Characters that the language itself tells apart, and that no other character could stand for. */
  readonly units: string
}

export const ANY: Language = { step: () => "x", accepts: () => true, units: "" }
export const NON_EMPTY: Language = { ...ANY, accepts: state => state !== "" }

export const words = (list: readonly string[]): Language => ({
  step: (state, char) => (list.some(word => word.startsWith(state + char)) ? state + char : undefined),
  accepts: state => list.includes(state),
  units: list.join(""),
})

/** `<trust domain>/ns/<namespace>/sa/<account>`; a state has `d` and `s` for parts that are complete if they end here. */
export const IDENTITY: Language = {
  step(state, char) {
    const parts = (state + char).split("/")
    const shorter = parts.map((part, at) => {
      if (at === 0) return /^[a-z0-9._-]+$/.test(part) ? "d" : undefined
      const isLast = at === parts.length - 1
      const word = ["", "ns", "", "sa"][at]
      if (word) return isLast ? (word.startsWith(part) ? part : undefined) : part === word ? part : undefined
      if (part === "" || part === "." || part === "..") return isLast ? part : undefined
      return /^[A-Za-z0-9._-]+$/.test(part) ? "s" : undefined
    })
    return parts.length > 5 || shorter.includes(undefined) ? undefined : shorter.join("/")
  },
  accepts: state => state === "d/ns/s/sa/s",
  units: "/nsa",
}

const DECODED = /^%(2[dDeE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aAeE]|00)$/

/** Paths that normalisation leaves as they are (docs/semantics.md, "Paths"); a state is the end of the path so far. */
export function pathLanguage(mode: string): Language {
  const raw = mode === "NONE"
  const merges = mode === "MERGE_SLASHES" || mode === "DECODE_AND_MERGE_SLASHES"
  return {
    step(state, char) {
      if (state === "") return char === "/" || char === "*" ? char : undefined
      if (state === "*" || !/^[!-~]$/.test(char) || char === "?" || char === "#") return undefined
      if (raw) return "x"
      if (char === "\\" || DECODED.test(state + char)) return undefined
      if (mode === "DECODE_AND_MERGE_SLASHES" && /^%(2f|5c)$/i.test(state + char)) return undefined
      if (char === "/") return state === "/." || state === "/.." || (merges && state === "/") ? undefined : "/"
      if (char === "%" || (char === "." && (state === "/" || state === "/."))) return char === "%" ? "%" : `${state}.`
      return state === "%" && /[0-9A-Fa-f]/.test(char) ? `%${char}` : "x"
    },
    accepts: state => state !== "" && state !== "/." && state !== "/..",
    units: "/*",
  }
}

const MAX_STATES = 400_000
const FILLERS = "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA9876543210-_~!$&'()+,;:@=\"<>[]^`{|}.*%"
const RARE = Array.from({ length: 512 }, (_, at) => String.fromCharCode(0x4e00 + at)).join("")

/**
 * One text for each set of patterns that some text of the language matches. It runs all patterns together over every text;
 * a character that no pattern and no language names stands for all such characters.
 */
export function textClasses(patterns: readonly Steps[], language: Language): readonly string[] {
  type State = { readonly at: readonly ReadonlySet<number>[]; readonly of: string; readonly text: string }
  const found = new Map<string, string>()
  const seen = new Set<string>()
  let open: State[] = [{ at: patterns.map(begin), of: "", text: "" }]
  while (open.length > 0) {
    const next: State[] = []
    for (const { at, of, text } of open) {
      const key = `${of} ${at.map(set => [...set].sort((a, b) => a - b).join()).join(";")}`
      if (seen.has(key)) continue
      if (seen.add(key).size > MAX_STATES)
        throw new Invalid("the values of an attribute have too many classes to check")
      const matched = at.flatMap((set, index) => (set.has(patterns[index]?.length ?? -1) ? [index] : [])).join()
      if (language.accepts(of) && !found.has(matched)) found.set(matched, text)
      const named = new Set(language.units.split("").concat("/"))
      for (const [index, set] of at.entries()) {
        for (const position of set) {
          const chars = patterns[index]?.[position]?.of ?? "any"
          if (!isSet(chars)) for (const char of chars.split("")) named.add(char)
        }
      }
      const filler = (FILLERS + RARE).split("").find(char => !named.has(char) && language.step(of, char) !== undefined)
      if (filler !== undefined) named.add(filler)
      for (const char of named) {
        const reached = language.step(of, char)
        if (reached === undefined) continue
        next.push({ at: at.map((set, i) => advance(patterns[i] ?? [], set, char)), of: reached, text: text + char })
      }
    }
    open = next
  }
  return [...found.values()]
}
