// SPDX-License-Identifier: Apache-2.0
// Which of a destination's endpoints takes the next request. Healthy ones alone; where none is, all of them: a wrong verdict on
// everybody's health must not take a service away that would answer.

import type { LoadBalancer, ServiceEndpoint } from "@merlon/xds"
import type { EndpointHealth } from "./endpoint-health.js"

export interface Turn {
  /** The one whose turn it is, then those to try where it cannot be reached. */
  readonly endpoints: readonly ServiceEndpoint[]
  /** Whether none was healthy. */
  readonly panic: boolean
}

export interface BalancerSources {
  /** At least 0, below 1. */
  readonly random: () => number
  readonly now: () => number
}

const SOURCES: BalancerSources = { random: Math.random, now: () => performance.now() }

/** Nobody tries more endpoints than this for one request. */
const MAX_LISTED = 11

export class EndpointBalancer {
  kind: LoadBalancer
  readonly #sources: BalancerSources
  #turns = 0

  constructor(kind: LoadBalancer, sources: BalancerSources = SOURCES) {
    this.kind = kind
    this.#sources = sources
  }

  next(endpoints: readonly ServiceEndpoint[], health: EndpointHealth): Turn {
    const healthy = endpoints.filter(endpoint => endpoint.healthy && !health.isEjected(endpoint))
    const panic = healthy.length === 0
    const candidates = panic ? [...endpoints] : healthy
    if (candidates.length === 0) return { endpoints: [], panic: false }
    this.#turns += 1
    const ordered = this.kind === "ROUND_ROBIN" ? this.#inTurn(candidates) : this.#drawn(candidates, health)
    const [first] = ordered
    if (first !== undefined) health.stateOf(first).load.lastTurn = this.#turns
    return { endpoints: ordered, panic }
  }

  #inTurn(candidates: readonly ServiceEndpoint[]): readonly ServiceEndpoint[] {
    const first = (this.#turns - 1) % candidates.length
    return [...candidates.slice(first), ...candidates.slice(0, first)].slice(0, MAX_LISTED)
  }

  /** Without putting back: each comes up once. */
  #drawn(candidates: ServiceEndpoint[], health: EndpointHealth): readonly ServiceEndpoint[] {
    const ordered: ServiceEndpoint[] = []
    while (candidates.length > 0 && ordered.length < MAX_LISTED) {
      const at = this.kind === "RANDOM" ? this.#draw(candidates.length) : this.#lessLoadedOfTwo(candidates, health)
      ordered.push(...candidates.splice(at, 1))
    }
    return ordered
  }

  /** Power of two choices: nearly as good as the least loaded of all, and never everybody's favourite at once. */
  #lessLoadedOfTwo(candidates: readonly ServiceEndpoint[], health: EndpointHealth): number {
    if (candidates.length === 1) return 0
    const one = this.#draw(candidates.length)
    const drawn = this.#draw(candidates.length - 1)
    const two = drawn < one ? drawn : drawn + 1
    const [first, second] = one < two ? [one, two] : [two, one]
    return this.#isLessLoaded(candidates[second], candidates[first], health) ? second : first
  }

  /** Between equals the one that was chosen longer ago, so that a few idle ones take turns. */
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
