// SPDX-License-Identifier: Apache-2.0
// How busy an endpoint is: outstanding requests times a moving average of its latency (peak EWMA, as in Finagle and
// linkerd2-proxy). A slower response counts at once, a faster one gradually, and an endpoint without responses is
// forgiven over time.

/** Without a response for this long, an estimate keeps a little more than a third of its weight. */
const DECAY_MS = 10_000
/** Differences below this are noise. */
const LEAST_LATENCY_MS = 1
/**
 * Latency of an endpoint that has requests but has never answered: a new endpoint must not get all requests at once.
 */
const UNKNOWN_LATENCY_MS = 30

export class EndpointLoad {
  outstanding = 0
  /** The balancer's turn in which it was last chosen; 0 for never. Breaks ties. */
  lastTurn = 0
  #latencyMs = 0
  #at = 0

  /** The endpoint with the lower cost gets the next request. */
  cost(now: number): number {
    if (this.#at === 0 && this.outstanding > 0) return UNKNOWN_LATENCY_MS * (this.outstanding + 1)
    return Math.max(LEAST_LATENCY_MS, this.#latencyAt(now)) * (this.outstanding + 1)
  }

  answered(latencyMs: number, now: number): void {
    const isFirst = this.#at === 0
    const weight = isFirst ? 0 : Math.exp(-Math.max(0, now - this.#at) / DECAY_MS)
    const before = this.#latencyMs * weight
    this.#latencyMs = latencyMs >= before ? latencyMs : before + latencyMs * (1 - weight)
    // 0 means never.
    this.#at = Math.max(now, Number.MIN_VALUE)
  }

  /** A request ended without a response, or with an error. Errors may be fast, so this never lowers the cost. */
  unanswered(latencyMs: number, now: number): void {
    if (latencyMs > this.#latencyAt(now)) this.answered(latencyMs, now)
  }

  #latencyAt(now: number): number {
    return this.#latencyMs * Math.exp(-Math.max(0, now - this.#at) / DECAY_MS)
  }
}
