// SPDX-License-Identifier: Apache-2.0
// Judges a request that a certificate shows (docs/semantics.md, "Stages and status codes").

import type { Problem, Side } from "./problems.js"
import { fields, Invalid, text, texts } from "./read.js"
import { isCertain } from "./refute.js"
import { CLIENT_CERT, type Frame, type Region } from "./rules.js"
import { type Given, isPossible, isSeveral, readValue, type Value } from "./values.js"

/** Attributes that depend on more than the values that a certificate shows. */
const UNFOLLOWED = [
  ...[":path", "connection", CLIENT_CERT].map(name => `header ${name}`),
  ...["exp", "nbf", "iat"].map(name => `claim ["${name}"]`),
]

/** With these headers the request is a CORS preflight, whose token is not read. */
const PREFLIGHT = ["header origin", "header access-control-request-method"]

export class Shown {
  readonly frame: Frame
  readonly #values = new Map<string, Value>()
  readonly #given: Given

  /** Throws if no such request can exist. */
  constructor(request: unknown, sides: readonly Side[], given: Given) {
    this.#given = given
    const { http, token, values } = fields(request, "request", ["http", "token", "values"])
    for (const [attribute, value] of Object.entries(fields(values, "values")))
      this.#values.set(attribute, readValue(value, attribute))
    // The value as sent; rules ignore one dot at the end of the name.
    const host = this.#values.get("host")
    if (typeof host === "string") this.#values.set("host", host.replace(/^([^:]+)\.(:\d*)?$/, "$1$2"))
    const places = new Set(sides.flatMap(({ tokens }) => tokens.flatMap(({ locations }) => locations)))
    for (const place of places) {
      const [kind, name] = texts(JSON.parse(place), "a location")
      if (this.#values.has(`header ${kind === "header" ? name : kind}`))
        throw new Invalid("the request has a header that a token is read from")
    }
    const isOptions = this.#values.get("method") === "OPTIONS"
    const hasText = (name: string) => /\S/.test([this.#values.get(name)].flat().join(""))
    const isPreflight = isOptions && places.size > 0 && PREFLIGHT.every(hasText)
    const place = token === undefined ? (isPreflight ? "preflight" : "none") : text(token, "token")
    this.frame = { identity: this.#values.has("peer"), http: http === true, token: place }
    const isThere = token === undefined || (http === true && !isPreflight && places.has(place))
    const isNamed = typeof this.#values.get("sni") === "string"
    if (!isThere || typeof http !== "boolean" || (http && isNamed && !this.frame.identity))
      throw new Invalid("there is no request of this kind")
    for (const [attribute, value] of this.#values)
      if (UNFOLLOWED.includes(attribute) || !isPossible(attribute, value, given))
        throw new Invalid(`the request has no \`${attribute}\` that there can be`)
    const always = ["source ip", "destination ip", "port", ...(http ? ["path", "method", "scheme"] : [])]
    for (const attribute of token === undefined ? always : [...always, "token key", "expiry", "subject"])
      this.#valueOf(attribute)
    const claims = [...this.#values.keys()].filter(
      one => one.startsWith("claim ") && this.#values.get(one)?.length !== 0,
    )
    const paths = claims.map(one => texts(JSON.parse(one.slice("claim ".length)), one))
    const isWithin = (inner: readonly string[], outer: readonly string[]) =>
      inner.length > outer.length && outer.every((name, at) => inner[at] === name)
    if (paths.some(inner => paths.some(outer => isWithin(inner, outer))))
      throw new Invalid("the request has a claim that is a text, and has members")
  }

  #valueOf(attribute: string): Value {
    const known = this.#values.get(attribute)
    if (known !== undefined) return known
    const value = isSeveral(attribute) ? [] : null
    if (UNFOLLOWED.includes(attribute) || !isPossible(attribute, value, this.#given))
      throw new Invalid(`the request does not say its \`${attribute}\``)
    this.#values.set(attribute, value)
    return value
  }

  lies(region: Region): boolean {
    const attributes = region.groups.flat().flatMap(({ conditions }) => conditions.map(({ attribute }) => attribute))
    return isCertain(region, new Map(attributes.map(attribute => [attribute, this.#valueOf(attribute)])))
  }

  solves({ needs, bans }: Problem): boolean {
    return needs.every(need => need.some(region => this.lies(region))) && !bans.some(region => this.lies(region))
  }
}
