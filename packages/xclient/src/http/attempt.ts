// SPDX-License-Identifier: Apache-2.0
// One attempt of a request at one endpoint, for the balancer and the endpoint's health: outstanding from sending until
// it ends, with its latency or its failure.

import type { ServiceEndpoint } from "@merlon/xds"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import type { EndpointOutcome } from "../balance/outlier-detector.js"

/** Receives the outcome of an attempt, unless it says nothing about the endpoint. */
export type OutcomeSink = (outcome: EndpointOutcome) => void

export class Attempt {
  readonly endpoint: ServiceEndpoint
  readonly #health: EndpointHealth
  readonly #judged: OutcomeSink
  readonly #now: () => number
  readonly #sentAt: number
  #isAnswered = false
  #isOver = false

  constructor(
    endpoint: ServiceEndpoint,
    health: EndpointHealth,
    judged: OutcomeSink = () => undefined,
    now: () => number = () => performance.now(),
  ) {
    this.endpoint = endpoint
    this.#health = health
    this.#judged = judged
    this.#now = now
    this.#sentAt = now()
    health.stateOf(endpoint).load.outstanding += 1
  }

  answered(status: number): void {
    const now = this.#now()
    const { load } = this.#health.stateOf(this.endpoint)
    this.#isAnswered = true
    this.#health.succeeded(this.endpoint)
    if (status < 500) load.answered(now - this.#sentAt, now)
    else load.unanswered(now - this.#sentAt, now)
  }

  /** No connection could be made. */
  unreachable(): void {
    this.#health.failed(this.endpoint)
    this.#judged("gateway")
  }

  /** Records what the response, or the lack of one, says about the endpoint. */
  judged(outcome: EndpointOutcome): void {
    this.#judged(outcome)
  }

  /** Ends the attempt, whatever its outcome. Further calls have no effect. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { load } = this.#health.stateOf(this.endpoint)
    load.outstanding -= 1
    if (this.#isAnswered) return
    const now = this.#now()
    load.unanswered(now - this.#sentAt, now)
  }
}
