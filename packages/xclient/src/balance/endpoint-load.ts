// SPDX-License-Identifier: Apache-2.0
// How busy an endpoint is: requests outstanding times a moving average of its latency (peak EWMA, as Finagle and linkerd2-proxy
// do). A slower response counts at once, a faster one gradually, and an endpoint without responses is forgiven over time.

/** After so long without a response, an estimate counts for a little more than a third. */
const DECAY_MS = 10_000
/** Differences below this are noise. */
const LEAST_LATENCY_MS = 1
/** Of an endpoint that has requests and has never answered one: a newcomer does not get all requests at once. */
const UNKNOWN_LATENCY_MS = 30

export class EndpointLoad {
  outstanding = 0
  /** The balancer's count of turns when it chose this one; 0 for never. Decides between equals. */
  lastTurn = 0
  #latencyMs = 0
  #at = 0

  /** Of two endpoints the one with the lower cost takes the next request. */
  cost(now: number): number {
    if (this.#at === 0 && this.outstanding > 0) return UNKNOWN_LATENCY_MS * (this.outstanding + 1)
    return Math.max(LEAST_LATENCY_MS, this.#latencyAt(now)) * (this.outstanding + 1)
  }

  answered(latencyMs: number, now: number): void {
    const isFirst = this.#at === 0
    const weight = isFirst ? 0 : Math.exp(-Math.max(0, now - this.#at) / DECAY_MS)
    const before = this.#latencyMs * weight
    this.#latencyMs = latencyMs >= before ? latencyMs : before + latencyMs * (1 - weight)
    // 0 stands for never.
    this.#at = Math.max(now, Number.MIN_VALUE)
  }

  /** It took so long and there is no answer, or an error, which may come fast: this never makes it look less busy. */
  unanswered(latencyMs: number, now: number): void {
    if (latencyMs > this.#latencyAt(now)) this.answered(latencyMs, now)
  }

  #latencyAt(now: number): number {
    return this.#latencyMs * Math.exp(-Math.max(0, now - this.#at) / DECAY_MS)
  }
}
