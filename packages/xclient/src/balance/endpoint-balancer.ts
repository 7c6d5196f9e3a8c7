// SPDX-License-Identifier: Apache-2.0
// Picks the endpoint of a destination for the next request: a healthy one, or any if none is healthy, because a wrong
// health verdict must not take down a service that would answer.

import type { LoadBalancer, ServiceEndpoint } from "@merlon/xds"
import type { EndpointHealth } from "./endpoint-health.js"
import { EndpointOrder } from "./endpoint-order.js"
import type { OutlierDetector } from "./outlier-detector.js"

export interface Turn {
  /** The chosen endpoint, then those to try if it cannot be reached. */
  readonly endpoints: EndpointOrder
  /** Whether none was healthy. */
  readonly panic: boolean
}

export interface BalancerSources {
  /** In the range [0, 1). */
  readonly random: () => number
  readonly now: () => number
}

const SOURCES: BalancerSources = { random: Math.random, now: () => performance.now() }

/** No request tries more endpoints than this. */
const MAX_LISTED = 11
const NO_ENDPOINTS: Turn = { endpoints: new EndpointOrder([]), panic: false }

export class EndpointBalancer {
  kind: LoadBalancer
  readonly #sources: BalancerSources
  #turns = 0

  constructor(kind: LoadBalancer, sources: BalancerSources = SOURCES) {
    this.kind = kind
    this.#sources = sources
  }

  next(endpoints: readonly ServiceEndpoint[], health: EndpointHealth, outliers?: OutlierDetector): Turn {
    if (endpoints.length === 0) return NO_ENDPOINTS
    const usable = usableOf(endpoints, health, outliers)
    const panic = usable.length === 0
    const candidates = panic ? endpoints : usable
    this.#turns += 1
    const turn = this.#turns
    // With the chosen one taken out, the next one is at its index; after the last one the first follows.
    const start = (turn - 1) % candidates.length
    const choose = (left: readonly ServiceEndpoint[]): number => {
      const place = this.#place(left, start, health)
      const chosen = left[place]
      // Only the first one counts as chosen: the others are alternatives.
      if (chosen !== undefined && left === candidates) health.stateOf(chosen).load.lastTurn = turn
      return place
    }
    return { endpoints: new EndpointOrder(candidates, choose, MAX_LISTED), panic }
  }

  #place(left: readonly ServiceEndpoint[], start: number, health: EndpointHealth): number {
    switch (this.kind) {
      case "ROUND_ROBIN":
        return start < left.length ? start : 0
      case "RANDOM":
        return this.#draw(left.length)
      case "LEAST_REQUEST":
        return this.#lessLoadedOfTwo(left, health)
    }
  }

  /**
   * Power of two choices: nearly as good as choosing the least loaded of all, without all clients choosing the same
   * endpoint.
   */
  #lessLoadedOfTwo(candidates: readonly ServiceEndpoint[], health: EndpointHealth): number {
    if (candidates.length === 1) return 0
    const one = this.#draw(candidates.length)
    const drawn = this.#draw(candidates.length - 1)
    const two = drawn < one ? drawn : drawn + 1
    const [first, second] = one < two ? [one, two] : [two, one]
    return this.#isLessLoaded(candidates[second], candidates[first], health) ? second : first
  }

  /** Of two equal endpoints, the one chosen longer ago wins, so that a few idle ones alternate. */
  #isLessLoaded(a: ServiceEndpoint | undefined, b: ServiceEndpoint | undefined, health: EndpointHealth): boolean {
    if (a === undefined || b === undefined) return false
    const [one, other] = [health.stateOf(a).load, health.stateOf(b).load]
    const now = this.#sources.now()
    const difference = one.cost(now) - other.cost(now)
    return difference === 0 ? one.lastTurn < other.lastTurn : difference < 0
  }

  #draw(below: number): number {
    return Math.min(below - 1, Math.floor(this.#sources.random() * below))
  }
}

/** Usually all endpoints are usable: then the list itself, not a copy. */
function usableOf(
  endpoints: readonly ServiceEndpoint[],
  health: EndpointHealth,
  outliers: OutlierDetector | undefined,
): readonly ServiceEndpoint[] {
  const detector = outliers?.isTrustworthy(endpoints) === true ? outliers : undefined
  const isUsable = (endpoint: ServiceEndpoint): boolean =>
    endpoint.healthy && !health.isEjected(endpoint) && detector?.isEjected(endpoint) !== true
  return endpoints.every(isUsable) ? endpoints : endpoints.filter(isUsable)
}
