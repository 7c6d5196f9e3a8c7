// SPDX-License-Identifier: Apache-2.0
// The dimensions of all requests to one workload. Both sides of a comparison share a space, so that the same attribute is
// the same dimension on both.

import { type Comparison, comparisonOf } from "../authorization/comparison.js"
import type { MeshConfig } from "../mesh/config.js"
import {
  addressDimension,
  choiceDimension,
  type Dimension,
  subjectDimension,
  type TextOptions,
  textDimension,
} from "./classes/dimension.js"
import { ANY_TEXT, IDENTITY, NON_EMPTY, wordsLanguage } from "./classes/language.js"
import type { Mark, TextMark } from "./classes/mark.js"
import { pathLanguage } from "./classes/path-language.js"
import { REST } from "./classes/steps.js"
import { ReadRules } from "./read-rules.js"
import { type Region, region } from "./search/formula.js"

export interface SpaceOptions {
  readonly mesh: MeshConfig
  /** The ports that the workload serves; empty if unknown, so that any port may be one. */
  readonly ports: readonly number[]
  /** What callers call the workload. */
  readonly host: string
  readonly namespace: string
  /** Keys that sign tokens, by their ids. */
  readonly keys: readonly string[]
  readonly issuers: readonly string[]
}

const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
const LIKELY_PORTS = [8080, 80, 8000, 3000, 9000, 5000]
/** Claims that a token must have as one text, if at all. */
const SINGLE_CLAIMS: ReadonlySet<string> = new Set(["jti"])
export const NO_KEY = "no key of any rule"

export class Space {
  readonly method = textDimension("method", { language: NON_EMPTY, preferred: METHODS })
  readonly scheme = textDimension("scheme", { language: wordsLanguage(["http", "https"]) })
  readonly sni = textDimension("sni", { language: ANY_TEXT, optional: true })
  readonly sourceIp = addressDimension("source ip", ["10.0.0.9", "192.0.2.1", "2001:db8::1"])
  readonly destinationIp = addressDimension("destination ip", ["10.0.0.1", "2001:db8::2"])
  readonly host: Dimension
  readonly path: Dimension
  readonly port: Dimension
  readonly peer: Dimension
  readonly subject: Dimension
  readonly key: Dimension
  readonly expiry = choiceDimension("expiry", ["set", "none"])
  readonly regions = new ReadRules()
  readonly #remoteIp = addressDimension("remote ip", ["198.51.100.7", "2001:db8::7"])
  readonly #headers = new Map<string, Dimension>()
  readonly #claims = new Map<string, { readonly path: readonly string[]; readonly dimension: Dimension }>()
  readonly #written = new Map<string, { readonly path: readonly string[]; readonly dimension: Dimension }>()
  readonly #marks = new Map<string, Mark>()
  readonly #options: SpaceOptions

  constructor(options: SpaceOptions) {
    const { mesh, ports, host, namespace, keys, issuers } = options
    this.#options = options
    // Every name can be what is left of one: of `a..` rules see `a.`.
    this.host = textDimension("host", { language: NON_EMPTY, preferred: [host], optional: true })
    this.path = textDimension("path", {
      language: pathLanguage(mesh.pathNormalization, mesh.dialect),
      preferred: ["/"],
    })
    const others = (taken: ReadonlySet<string>) => String(anotherPort(taken))
    this.port = choiceDimension("port", ports.map(String), ports.length === 0 ? others : undefined)
    const peers = ["default", namespace].map(ns => `${mesh.trustDomain}/ns/${ns}/sa/default`)
    this.peer = textDimension("peer", { language: IDENTITY, preferred: peers })
    const text = (preferred: readonly string[]): TextOptions => ({ language: ANY_TEXT, optional: true, preferred })
    this.subject = subjectDimension("subject", text([...issuers, "https://issuer.example"]), text(["someone"]))
    this.key = choiceDimension("token key", [...keys, NO_KEY])
  }

  /** Where no proxy in front is trusted, the client is the TCP peer; on TCP it always is. */
  remoteIp(protocol: "http" | "tcp"): Dimension {
    return protocol === "http" && this.#options.mesh.numTrustedProxies > 0 ? this.#remoteIp : this.sourceIp
  }

  header(name: string): Dimension {
    let dimension = this.#headers.get(name)
    if (dimension === undefined) {
      dimension = textDimension(`header ${name}`, { language: ANY_TEXT }, true)
      this.#headers.set(name, dimension)
    }
    return dimension
  }

  /** One mark for one value of one attribute, however many rules write it. */
  mark(attribute: string, value: string, make: (value: string) => Mark): Mark {
    const id = `${attribute}\n${value}`
    let mark = this.#marks.get(id)
    if (mark === undefined) {
      mark = make(value)
      this.#marks.set(id, mark)
    }
    return mark
  }

  get comparison(): Comparison {
    return comparisonOf(this.#options.mesh.dialect)
  }

  get trustDomain(): string {
    return this.#options.mesh.trustDomain
  }

  get issuers(): readonly string[] {
    return this.#options.issuers
  }

  get keys(): readonly string[] {
    return this.#options.keys
  }

  get headers(): ReadonlyMap<string, Dimension> {
    return this.#headers
  }

  /**
   * What token rules write to a header, as from this claim. Not the claim itself: of several tokens, rules may see one and each
   * header may be written from another.
   */
  written(header: string, path: readonly string[]): Dimension {
    const id = JSON.stringify([header, path])
    let known = this.#written.get(id)
    if (known === undefined) {
      known = { path, dimension: textDimension(`written header ${id}`, { language: NON_EMPTY, optional: true }) }
      this.#written.set(id, known)
    }
    return known.dimension
  }

  get writtenClaims(): Iterable<{ readonly path: readonly string[]; readonly dimension: Dimension }> {
    return this.#written.values()
  }

  claim(path: readonly string[]): Dimension {
    const id = JSON.stringify(path)
    let known = this.#claims.get(id)
    if (known === undefined) {
      const single = path.length === 1 && SINGLE_CLAIMS.has(path[0] ?? "")
      const dimension = textDimension(`claim ${id}`, { language: ANY_TEXT, optional: true }, !single)
      known = { path, dimension }
      this.#claims.set(id, known)
    }
    return known.dimension
  }

  get claims(): Iterable<{ readonly path: readonly string[]; readonly dimension: Dimension }> {
    return this.#claims.values()
  }

  /** A claim that has members of its own is no text: regions in which no token lies. */
  impossible(): readonly Region[] {
    const claims = [...this.#claims.values()]
    return claims.flatMap(outer =>
      claims
        .filter(
          inner => inner.path.length > outer.path.length && outer.path.every((name, at) => inner.path[at] === name),
        )
        .map(inner => region(some(outer.dimension), some(inner.dimension))),
    )
  }
}

const ANY_MARK: TextMark = { kind: "text", key: "any text", steps: () => [REST], pattern: undefined }
const some = (dimension: Dimension) => ({ dimension, negated: false, marks: [ANY_MARK] })

function anotherPort(taken: ReadonlySet<string>): number {
  const likely = LIKELY_PORTS.find(port => !taken.has(String(port)))
  if (likely !== undefined) return likely
  for (let port = 1024; port < 65_536; port++) if (!taken.has(String(port))) return port
  return 65_535
}
