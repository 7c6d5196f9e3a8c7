// SPDX-License-Identifier: Apache-2.0
// The paths that normalisation does not change: rules see no other paths. One state machine serves all modes; its state
// is the position in the segment and in an escape.

import type { Dialect, PathNormalization } from "../../mesh/config.js"
import { escapedByEnvoy, normalizePath } from "../../request/path.js"
import { ANY_TEXT, type Language } from "./language.js"

// In a segment: 0 before the first slash, 1 right after a slash, 2 `.`, 3 `..`, 4 anything else; 5 is the whole of `*`,
// the path of `OPTIONS *` (RFC 9112 section 3.2.4). Where Envoy merges slashes, `//` is a path as a whole: 6 is after its
// first slash, 7 after the second.
const STAR = 5
const FIRST_SLASH = 6
const TWO_SLASHES = 7
const SEGMENT_STATES = 8
const HEX = "0123456789ABCDEFabcdef"
// INVARIANT: every character that a path can have. If patterns name all of them, no other character needs a
// representative.
const FILLERS = `${ANY_TEXT.fillers}"<>[]^\`{|}.*%`
// In an escape: 0 none, 1 after `%`, 2 and on after `%` and a hexadecimal digit.
const escapeState = (unit: string): number => 2 + HEX.indexOf(unit)

export function pathLanguage(mode: PathNormalization, dialect?: Dialect): Language {
  return {
    start: 0,
    step(state, unit) {
      const segment = state % SEGMENT_STATES
      const inEscape = Math.floor(state / SEGMENT_STATES)
      if (segment === 0 && unit === "*") return STAR
      if (!isPathUnit(unit) || segment === STAR || (segment === 0 && unit !== "/")) return undefined
      if (mode === "NONE") return unit === "/" ? 1 : 4
      if (dialect === "istio" && escapedByEnvoy(unit)) return undefined
      if (unit === "\\" || (inEscape >= 2 && !staysEscaped(`%${HEX[inEscape - 2]}${unit}`, mode))) return undefined
      const next = nextSegment(segment, unit, mode, dialect)
      return next === undefined ? undefined : next + SEGMENT_STATES * nextEscape(inEscape, unit)
    },
    accepts(state) {
      const segment = state % SEGMENT_STATES
      return segment !== 0 && segment !== 2 && segment !== 3
    },
    units: state => (state === 0 ? "/*" : "/"),
    fillers: FILLERS,
  }
}

function nextSegment(
  segment: number,
  unit: string,
  mode: PathNormalization,
  dialect: Dialect | undefined,
): number | undefined {
  if (segment === TWO_SLASHES) return undefined
  if (segment === FIRST_SLASH && unit !== "/") return nextSegment(1, unit, mode, dialect)
  if (unit === "/") {
    if (segment === 2 || segment === 3) return undefined
    if (mode === "BASE") return 1
    if (dialect === "istio" && segment === 0) return FIRST_SLASH
    return segment === FIRST_SLASH ? TWO_SLASHES : segment === 1 ? undefined : 1
  }
  return unit === "." && segment < 3 ? segment + 1 : 4
}

function nextEscape(inEscape: number, unit: string): number {
  if (unit === "%") return 1
  return inEscape === 1 && HEX.includes(unit) ? escapeState(unit) : 0
}

/** Uses the normalising function itself: `%41` becomes `A`, `%00` is rejected, `%20` stays. */
function staysEscaped(triplet: string, mode: PathNormalization): boolean {
  return !/^%[0-9A-Fa-f]{2}$/.test(triplet) || normalizePath(`/${triplet}`, mode) === `/${triplet}`
}

// A target with a fragment, or with anything but visible ASCII, is rejected; the query begins at the question mark.
function isPathUnit(unit: string): boolean {
  const code = unit.charCodeAt(0)
  return code > 0x20 && code < 0x7f && unit !== "?" && unit !== "#"
}
