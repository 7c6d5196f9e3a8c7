// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among a cluster's endpoints. Healthy ones in turn; where none is, all of them: a wrong verdict on
// everybody's health must not take a service away that would answer.

import type { ServiceEndpoint } from "@merlon/xds"
import type { EndpointHealth } from "./endpoint-health.js"

export interface Turn {
  /** The one whose turn it is, then those to try where it cannot be reached. */
  readonly endpoints: readonly ServiceEndpoint[]
  /** Whether none was healthy. */
  readonly panic: boolean
}

export class EndpointRotation {
  #turns = 0

  next(endpoints: readonly ServiceEndpoint[], health: EndpointHealth): Turn {
    const healthy = endpoints.filter(endpoint => endpoint.healthy && !health.isEjected(endpoint))
    const panic = healthy.length === 0
    const candidates = panic ? endpoints : healthy
    if (candidates.length === 0) return { endpoints: [], panic: false }
    const first = this.#turns++ % candidates.length
    return { endpoints: [...candidates.slice(first), ...candidates.slice(0, first)], panic }
  }
}
