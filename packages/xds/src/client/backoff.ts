// SPDX-License-Identifier: Apache-2.0
// Computes the delay before the next attempt, with full jitter: after an outage a thousand proxies reconnect spread
// out, not all at once.

import type { ClientLimits } from "./options.js"

export class Backoff {
  #failures = 0

  constructor(
    readonly limits: Pick<ClientLimits, "firstRetryMs" | "retryMs" | "longestRetryMs">,
    readonly random: () => number,
  ) {}

  reset(): void {
    this.#failures = 0
  }

  /** `rejected`: the control plane rejected this client, which frequent retries would not change. */
  next({ rejected }: { readonly rejected: boolean }): number {
    const { firstRetryMs, retryMs, longestRetryMs } = this.limits
    const failures = this.#failures
    this.#failures += 1
    if (rejected) return longestRetryMs / 2 + (this.random() * longestRetryMs) / 2
    const ceiling = failures === 0 ? firstRetryMs : Math.min(longestRetryMs, retryMs * 2 ** (failures - 1))
    return this.random() * ceiling
  }
}
