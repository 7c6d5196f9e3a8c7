// SPDX-License-Identifier: Apache-2.0
// Our own observations of endpoints: how busy each is, and which are skipped for a while because connections failed,
// longer with each failure in a row. Health from the control plane is applied separately.

import type { ServiceEndpoint } from "@merlon/xds"
import { EndpointLoad } from "./endpoint-load.js"

const FIRST_EJECTION_MS = 1_000
const LAST_EJECTION_MS = 30_000
/** Endpoints come and go, so their state is bounded. */
const MAX_REMEMBERED = 10_000

/** The state of one endpoint, by its address and port, whichever routes lead to it. */
export class EndpointState {
  readonly load = new EndpointLoad()
  ejectedUntil = 0
  /** Failed connection attempts in a row. */
  failures = 0
}

export class EndpointHealth {
  readonly #now: () => number
  /** INVARIANT: the least recently looked up state comes first. */
  readonly #states = new Map<string, EndpointState>()
  /** Updates bring new objects for the same endpoints; between updates most lookups need no key. */
  readonly #known = new WeakMap<ServiceEndpoint, EndpointState>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  stateOf(endpoint: ServiceEndpoint): EndpointState {
    const known = this.#known.get(endpoint)
    if (known !== undefined) return known
    const key = `${endpoint.address} ${endpoint.port}`
    const state = this.#states.get(key) ?? new EndpointState()
    this.#known.set(endpoint, state)
    this.#states.delete(key)
    this.#states.set(key, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > MAX_REMEMBERED && oldest !== undefined) this.#states.delete(oldest)
    return state
  }

  isEjected(endpoint: ServiceEndpoint): boolean {
    const { ejectedUntil } = this.stateOf(endpoint)
    return ejectedUntil > 0 && ejectedUntil > this.#now()
  }

  failed(endpoint: ServiceEndpoint): void {
    const state = this.stateOf(endpoint)
    const wait = Math.min(FIRST_EJECTION_MS * 2 ** state.failures, LAST_EJECTION_MS)
    state.failures += 1
    state.ejectedUntil = this.#now() + wait
  }

  succeeded(endpoint: ServiceEndpoint): void {
    const state = this.stateOf(endpoint)
    state.failures = 0
    state.ejectedUntil = 0
  }
}
