// SPDX-License-Identifier: Apache-2.0
// The dimensions of all requests to one workload. Both sides of a comparison share a space, so that the same attribute is
// the same dimension on both.

import { type Comparison, comparisonOf } from "../authorization/comparison.js"
import type { Dialect, MeshConfig } from "../mesh/config.js"
import { addressDimension, choiceDimension, type Dimension, textDimension } from "./classes/dimension.js"
import { ANY_TEXT, IDENTITY, NON_EMPTY, WITHOUT_CAPITALS, wordsLanguage } from "./classes/language.js"
import type { Mark } from "./classes/mark.js"
import { pathLanguage } from "./classes/path-language.js"
import { ReadRules } from "./read-rules.js"
import { TokenSpace } from "./token-space.js"

export interface SpaceOptions {
  readonly mesh: MeshConfig
  /** The ports that the workload declares; empty if unknown, so that any port may be one. */
  readonly ports: readonly number[]
  /** The host that callers use for the workload. */
  readonly host: string
  readonly namespace: string
  /** Ids of the keys that sign tokens. */
  readonly keys: readonly string[]
  readonly issuers: readonly string[]
}

const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
const CALLERS = ["10.0.0.9", "192.0.2.1", "2001:db8::1"]
const CLIENTS = ["198.51.100.7", "2001:db8::7"]
const LIKELY_PORTS = [8080, 80, 8000, 3000, 9000, 5000]
export class Space {
  readonly method = textDimension("method", { language: NON_EMPTY, preferred: METHODS })
  readonly scheme = textDimension("scheme", { language: wordsLanguage(["http", "https"]) })
  readonly sourceIp = addressDimension("source ip", CALLERS)
  readonly destinationIp = addressDimension("destination ip", ["10.0.0.1", "2001:db8::2"])
  readonly sni: Dimension
  readonly host: Dimension
  readonly path: Dimension
  readonly port: Dimension
  readonly peer: Dimension
  readonly token: TokenSpace
  /** The second token, in requests that carry two. */
  readonly secondToken: TokenSpace
  readonly regions = new ReadRules()
  readonly #remoteIp: Dimension
  readonly #headers = new Map<string, Dimension>()
  readonly #written = new Map<string, { readonly path: readonly string[]; readonly dimension: Dimension }>()
  readonly #marks = new Map<string, Mark>()
  readonly #options: SpaceOptions

  constructor(options: SpaceOptions) {
    const { mesh, ports, host, namespace, keys, issuers } = options
    this.#options = options
    // Without another indication, an Istio sidecar takes the caller for the client.
    const clients = mesh.dialect === "istio" ? [...CALLERS, ...CLIENTS] : CLIENTS
    this.#remoteIp = addressDimension("remote ip", clients)
    this.sni = textDimension("sni", {
      language: this.comparison.lowersSni ? WITHOUT_CAPITALS : NON_EMPTY,
      optional: true,
    })
    // Every non-empty name can remain after a trailing dot is ignored: for `a..`, rules see `a.`.
    this.host = textDimension("host", { language: NON_EMPTY, preferred: [host], optional: true })
    this.path = textDimension("path", {
      language: pathLanguage(mesh.pathNormalization, mesh.dialect),
      preferred: ["/"],
    })
    const others = (taken: ReadonlySet<string>) => String(anotherPort(taken))
    // An Istio sidecar accepts connections to every port, whether the Pod declares it or not.
    const isOpen = ports.length === 0 || mesh.dialect === "istio"
    this.port = choiceDimension("port", ports.map(String), isOpen ? others : undefined)
    const peers = ["default", namespace].map(ns => `${mesh.trustDomain}/ns/${ns}/sa/default`)
    this.peer = textDimension("peer", { language: IDENTITY, preferred: peers })
    this.token = new TokenSpace("", keys, issuers)
    this.secondToken = new TokenSpace("second ", keys, issuers)
  }

  /** If no proxy in front is trusted, the client is the TCP peer; on TCP it always is. */
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

  /** One mark for each value of an attribute, however many rules contain it. */
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

  get dialect(): Dialect | undefined {
    return this.#options.mesh.dialect
  }

  get trustDomain(): string {
    return this.#options.mesh.trustDomain
  }

  get headers(): ReadonlyMap<string, Dimension> {
    return this.#headers
  }

  /**
   * The value that token rules write to a header from this claim. It differs from the claim itself: with several
   * tokens, rules may see the claims of one while a header is written from another.
   */
  written(header: string, path: readonly string[]): Dimension {
    const id = JSON.stringify([header, path])
    let known = this.#written.get(id)
    if (known === undefined) {
      // Istio's proxy writes one line for each token that the rule accepts.
      const several = this.dialect === "istio"
      const options = { language: NON_EMPTY, optional: true }
      known = { path, dimension: textDimension(`written header ${id}`, options, several) }
      this.#written.set(id, known)
    }
    return known.dimension
  }

  get writtenClaims(): Iterable<{ readonly path: readonly string[]; readonly dimension: Dimension }> {
    return this.#written.values()
  }
}

function anotherPort(taken: ReadonlySet<string>): number {
  const likely = LIKELY_PORTS.find(port => !taken.has(String(port)))
  if (likely !== undefined) return likely
  for (let port = 1024; port < 65_536; port++) if (!taken.has(String(port))) return port
  return 65_535
}
