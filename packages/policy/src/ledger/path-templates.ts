// SPDX-License-Identifier: Apache-2.0
// Turns paths into templates as policies write them: `/users/4711/orders` becomes `/users/{*}/orders`. Segments that look
// like identifiers become `{*}` at once, and so do segments with many distinct values. Callers choose paths, so the
// number of templates is bounded: further paths become `/{**}`. Templates given as input stay unchanged.

/** Where a part of a path has more values than this, they are no names of things that policies speak of. */
const MAX_SIBLINGS = 32
const MAX_PLACES = 512
const MAX_SEGMENTS = 12
const MAX_LITERAL = 40

export const ANY_SEGMENT = "{*}"
export const ANY_REST = "{**}"
export const OVERFLOW_PATH = `/${ANY_REST}`

/** Where a template ends: the same for every path of it, for as long as it is one. */
export interface TemplatePlace {
  readonly many: boolean
}

interface Place extends TemplatePlace {
  readonly below: Map<string, Place>
  /** There were too many: each is `{*}` from here on. */
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
   * Where the template of a path ends that came before, without building it; undefined where it is new, or not a template of its
   * own. For those who see each path once and its template again and again.
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
    // What is there under its own name looked like no identifier when it came.
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
/** What a literal of a policy's template may be written with, without what people's names and escapes are written with. */
const PLAIN = /^[A-Za-z0-9\-._~!$'()+,;:=]+$/

/** Whether a segment looks like it names one of many things, or may hold a secret. */
function isIdentifier(segment: string): boolean {
  if (isDecimal(segment) || (segment.length === UUID_LENGTH && UUID.test(segment))) return true
  if (segment.length > MAX_LITERAL || !PLAIN.test(segment)) return true
  if (!DIGITS.test(segment)) return false
  return NUMBER.test(segment) || HEX.test(segment) || UUID.test(segment) || digitShare(segment) > 1 / 4
}

/** Most identifiers are; looked at without an expression, since each request may bring one. */
function isDecimal(segment: string): boolean {
  for (let at = 0; at < segment.length; at++) {
    const code = segment.charCodeAt(at)
    if (code < ZERO || code > NINE) return false
  }
  return segment !== ""
}

/** Of long segments alone: `v2` and `oauth2` are names. */
function digitShare(segment: string): number {
  if (segment.length < 12) return 0
  return segment.replace(/\D/g, "").length / segment.length
}
