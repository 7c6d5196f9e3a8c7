// SPDX-License-Identifier: Apache-2.0
// Turns paths into templates as policies write them: `/users/4711/orders` becomes `/users/{*}/orders`. Segments that look
// like identifiers become `{*}` at once, and so do segments with many distinct values. Callers choose paths, so the
// number of templates is bounded: further paths become `/{**}`. Templates given as input stay unchanged.

/** A part of a path that has more values than this is not a name that policies contain. */
const MAX_SIBLINGS = 32
const MAX_PLACES = 512
const MAX_SEGMENTS = 12
const MAX_LITERAL = 40

export const ANY_SEGMENT = "{*}"
export const ANY_REST = "{**}"
export const OVERFLOW_PATH = `/${ANY_REST}`

/** Where a template ends: the same object for every path of it, as long as the template exists. */
export interface TemplatePlace {
  readonly many: boolean
}

interface Place extends TemplatePlace {
  readonly below: Map<string, Place>
  /** There were too many values: each becomes `{*}` from now on. */
  many: boolean
}

export class PathTemplates {
  readonly #root: Place = { below: new Map(), many: false }
  readonly #maximum: number
  #places = 0

  constructor(maximum = MAX_PLACES) {
    this.#maximum = maximum
  }

  /** The path without its query. */
  of(path: string): string {
    if (!path.startsWith("/")) return OVERFLOW_PATH
    const segments = path.slice(1).split("/", MAX_SEGMENTS + 1)
    let place = this.#root
    let template = ""
    for (const [index, segment] of segments.entries()) {
      if (index === MAX_SEGMENTS || segment === ANY_REST) return `${template}/${ANY_REST}`
      const below = this.#below(place, segment)
      if (below === undefined) return OVERFLOW_PATH
      template += `/${below.name}`
      place = below.place
    }
    return template
  }

  /**
   * Where the template of a known path ends, without building the template; undefined if it is new or has no template
   * of its own. For callers that see each path once and its template repeatedly.
   */
  placeOf(path: string): TemplatePlace | undefined {
    if (!path.startsWith("/")) return undefined
    let place = this.#root
    let from = 1
    for (let count = 0; count < MAX_SEGMENTS; count++) {
      const slash = path.indexOf("/", from)
      const segment = slash === -1 ? path.slice(from) : path.slice(from, slash)
      if (segment === ANY_REST) return undefined
      const below = this.#knownBelow(place, segment)
      if (below === undefined || slash === -1) return below
      place = below
      from = slash + 1
    }
    return undefined
  }

  #knownBelow({ below, many }: Place, segment: string): Place | undefined {
    if (many) return below.get(segment === "" ? "" : ANY_SEGMENT)
    // A segment stored under its own name did not look like an identifier when it was added.
    const literal = below.get(segment)
    if (literal !== undefined || segment === "") return literal
    return isIdentifier(segment) ? below.get(ANY_SEGMENT) : undefined
  }

  #below(place: Place, segment: string): { readonly name: string; readonly place: Place } | undefined {
    const name = segment !== "" && (place.many || isIdentifier(segment)) ? ANY_SEGMENT : segment
    const known = place.below.get(name)
    if (known !== undefined) return { name, place: known }
    if (name !== ANY_SEGMENT && place.below.size >= MAX_SIBLINGS) {
      place.many = true
      this.#places -= countPlaces(place)
      place.below.clear()
      return this.#below(place, segment)
    }
    if (this.#places >= this.#maximum) return undefined
    this.#places += 1
    const added: Place = { below: new Map(), many: false }
    place.below.set(name, added)
    return { name, place: added }
  }
}

function countPlaces({ below }: Place): number {
  let count = below.size
  for (const place of below.values()) count += countPlaces(place)
  return count
}

const UUID_LENGTH = 36
const ZERO = 0x30
const NINE = 0x39
const DIGITS = /\d/
const NUMBER = /^[-+]?\d[\d.,:_-]*$/
const HEX = /^(?=.*\d)[0-9a-f]{8,}$/i
const UUID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i
/** The characters of a literal in a policy's template, except those of people's names and of escapes. */
const PLAIN = /^[A-Za-z0-9\-._~!$'()+,;:=]+$/

/** Whether a segment looks like the identifier of one of many things, or may contain a secret. */
function isIdentifier(segment: string): boolean {
  if (isDecimal(segment) || (segment.length === UUID_LENGTH && UUID.test(segment))) return true
  if (segment.length > MAX_LITERAL || !PLAIN.test(segment)) return true
  if (!DIGITS.test(segment)) return false
  return NUMBER.test(segment) || HEX.test(segment) || UUID.test(segment) || digitShare(segment) > 1 / 4
}

/** Most identifiers are decimal; checked without a regular expression, since each request may contain one. */
function isDecimal(segment: string): boolean {
  for (let at = 0; at < segment.length; at++) {
    const code = segment.charCodeAt(at)
    if (code < ZERO || code > NINE) return false
  }
  return segment !== ""
}

/** Used only for long segments: `v2` and `oauth2` are names. */
function digitShare(segment: string): number {
  if (segment.length < 12) return 0
  return segment.replace(/\D/g, "").length / segment.length
}
