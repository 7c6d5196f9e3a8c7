// SPDX-License-Identifier: Apache-2.0
// What enforces a configuration: this process, or several workers. Applying is complete when no request starts under the
// old configuration anywhere; only then is it acknowledged.

import type { MetricObjectWithValues, MetricValue } from "prom-client"
import type { Configuration } from "../config/configuration.js"
import type { Observed } from "../observe/observed.js"

/** All metrics of one process. */
export type MetricList = MetricObjectWithValues<MetricValue<string>>[]

export interface DataPath extends Observed {
  /** Rejects where the configuration cannot be used; what was in force stays in force. */
  apply(configuration: Configuration): Promise<void>
  /** Whom to tell of key sets that lack a key which some token named. */
  onUnknownKeys(listener: (keySetIds: readonly string[]) => void): void
  metrics(): Promise<readonly MetricList[]>
  /** Goes on serving, and tells callers with every response to go elsewhere. */
  startDraining(): Promise<void>
  /** Takes no new connection, lets requests in flight end, then closes. */
  drain(): Promise<void>
}
