// SPDX-License-Identifier: Apache-2.0
// The texts that an attribute can have: for example, only normalised paths and well-formed identities. A language is a
// small automaton that runs in parallel with the patterns.

export interface Language {
  readonly start: number
  /** The next state, or undefined if no text of the language continues with this unit. */
  step(state: number, unit: string): number | undefined
  accepts(state: number): boolean
  /** Characters that the language itself distinguishes here, to be tried besides those of the patterns. */
  units(state: number): string
  /** Characters that represent all characters that no pattern names, the most ordinary first. */
  readonly fillers: string
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz"
const CAPITALS = LETTERS.toUpperCase()
const DIGITS = "0123456789"
// If policies use even all of those, some other letter remains that no policy uses.
const RARE = "~!$&'()+,;=:@_-éèçñøßþðæåäöüαβγδεζηθικλμνξοπρστυφχψωабвгдежзиклмнопрстуфхцчшщыэюя一二三四五六七八九十"

/** Any text, including the empty one. */
export const ANY_TEXT: Language = {
  start: 0,
  step: () => 0,
  accepts: () => true,
  units: () => "",
  fillers: LETTERS + CAPITALS + DIGITS + RARE,
}

export const NON_EMPTY: Language = {
  ...ANY_TEXT,
  step: () => 1,
  accepts: state => state === 1,
}

export const WITHOUT_CAPITALS: Language = {
  ...NON_EMPTY,
  step: (_, unit) => (CAPITALS.includes(unit) ? undefined : 1),
  fillers: LETTERS + DIGITS + RARE,
}

/** One of a few words. */
export function wordsLanguage(words: readonly string[]): Language {
  // A state is a prefix of some word.
  const prefixes = [
    ...new Set(words.flatMap(word => Array.from({ length: word.length + 1 }, (_, n) => word.slice(0, n)))),
  ]
  const at = new Map(prefixes.map((prefix, index) => [prefix, index]))
  return {
    start: at.get("") ?? 0,
    step: (state, unit) => at.get((prefixes[state] ?? "") + unit),
    accepts: state => words.includes(prefixes[state] ?? ""),
    units: state =>
      [...new Set(prefixes.filter(p => p.length > 0 && p.slice(0, -1) === prefixes[state]).map(p => p.slice(-1)))].join(
        "",
      ),
    fillers: "",
  }
}

const TRUST_DOMAIN_UNITS = `${LETTERS}${DIGITS}-_.`
const SEGMENT_UNITS = `${LETTERS}${CAPITALS}${DIGITS}-_.`
const NS = "/ns/"
const SA = "/sa/"

// States: 0 nothing yet, 1 in the trust domain, 2-4 in `/ns/`, 5 before the namespace, 6 `.`, 7 `..`, 8 in the namespace,
// 9-11 in `/sa/`, 12-15 the same for the service account.
/** `<trust domain>/ns/<namespace>/sa/<service account>`, as `parseSpiffeId` takes it. */
export const IDENTITY: Language = {
  start: 0,
  step(state, unit) {
    if (state <= 1) {
      if (unit === "/") return state === 1 ? 2 : undefined
      return TRUST_DOMAIN_UNITS.includes(unit) ? 1 : undefined
    }
    if (state <= 4) return unit === NS[state - 1] ? state + 1 : undefined
    if (state <= 8) {
      if (unit === "/") return state === 8 ? 9 : undefined
      return inSegment(state, unit, 5)
    }
    if (state <= 11) return unit === SA[state - 8] ? state + 1 : undefined
    return inSegment(state, unit, 12)
  },
  accepts: state => state === 15,
  units(state) {
    if (state === 1 || state === 8) return "/"
    if (state >= 2 && state <= 4) return NS.charAt(state - 1)
    return state >= 9 && state <= 11 ? SA.charAt(state - 8) : ""
  },
  fillers: SEGMENT_UNITS,
}

/** The state within a segment that begins in state `first`; neither `.` nor `..` is a segment. */
function inSegment(state: number, unit: string, first: number): number | undefined {
  if (!SEGMENT_UNITS.includes(unit)) return undefined
  return unit === "." && state < first + 2 ? state + 1 : first + 3
}
