// SPDX-License-Identifier: Apache-2.0
// Enforces a configuration, in this process or in several workers. Applying is complete when no request starts under
// the old configuration anywhere; only then is it acknowledged.

import type { MetricObjectWithValues, MetricValue } from "prom-client"
import type { Configuration } from "../config/configuration.js"
import type { Observed } from "../observe/observed.js"

/** All metrics of one process. */
export type MetricList = MetricObjectWithValues<MetricValue<string>>[]

export interface DataPath extends Observed {
  /** Rejects if the configuration cannot be used; the current one stays in effect. */
  apply(configuration: Configuration): Promise<void>
  /** The listener gets key sets that lack a key which some token named. */
  onUnknownKeys(listener: (keySetIds: readonly string[]) => void): void
  metrics(): Promise<readonly MetricList[]>
  /** Continues to serve, and tells callers with every response to connect elsewhere. */
  startDraining(): Promise<void>
  /** Accepts no new connections, waits for requests in flight, then closes. */
  drain(): Promise<void>
}
