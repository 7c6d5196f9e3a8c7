// SPDX-License-Identifier: Apache-2.0
// What we have seen of endpoints ourselves: one that cannot be connected to is left out for a while, longer with each
// failure in a row. The control plane's word on health comes on top of this and is not kept here.

import type { ServiceEndpoint } from "@merlon/xds"

const FIRST_EJECTION_MS = 1_000
const LAST_EJECTION_MS = 30_000
/** Endpoints come and go; what is remembered of them is bounded. */
const MAX_REMEMBERED = 10_000

interface Ejection {
  readonly until: number
  readonly failures: number
}

export class EndpointHealth {
  readonly #now: () => number
  readonly #ejections = new Map<string, Ejection>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  isEjected(endpoint: ServiceEndpoint): boolean {
    return (this.#ejections.get(keyOf(endpoint))?.until ?? 0) > this.#now()
  }

  failed(endpoint: ServiceEndpoint): void {
    const key = keyOf(endpoint)
    const failures = (this.#ejections.get(key)?.failures ?? 0) + 1
    const wait = Math.min(FIRST_EJECTION_MS * 2 ** (failures - 1), LAST_EJECTION_MS)
    this.#ejections.delete(key)
    this.#ejections.set(key, { until: this.#now() + wait, failures })
    const [oldest] = this.#ejections.keys()
    if (this.#ejections.size > MAX_REMEMBERED && oldest !== undefined) this.#ejections.delete(oldest)
  }

  succeeded(endpoint: ServiceEndpoint): void {
    this.#ejections.delete(keyOf(endpoint))
  }
}

function keyOf({ address, port }: ServiceEndpoint): string {
  return `${address} ${port}`
}
