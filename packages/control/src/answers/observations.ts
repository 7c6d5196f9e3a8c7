// SPDX-License-Identifier: Apache-2.0
// What is known only where a proxy is connected: its decisions, its revision, its recent reports. A replica has this for
// its own proxies (`local-observations.ts`) and asks the others for theirs (`mesh-observations.ts`).

import type { ProxyReport } from "../observe/proxy-report.js"
import type { Item } from "./api/item.js"
import type { WorkloadDestination } from "./destinations.js"
import type { TrafficMinute } from "./traffic.js"

export interface ObservedDecisions {
  /** Newest first. */
  readonly items: readonly Item[]
  /** How many more there are. */
  readonly remaining: number
  /** Proxies that were asked, of how many. */
  readonly asked: number
  readonly known: number
}

export interface ObservedProxies {
  /** In the order of their keys. */
  readonly reports: readonly ProxyReport[]
  /** How long the last changes took until all enforced them, in milliseconds. */
  readonly took: readonly number[]
}

export interface ObservedDestinations {
  /** The one called last first. */
  readonly destinations: readonly WorkloadDestination[]
  /** Proxies that were asked, of how many that take calls. */
  readonly asked: number
  readonly known: number
}

export interface ObservedTraffic {
  /** Oldest first. */
  readonly minutes: readonly TrafficMinute[]
}

/** With the names of replicas that did not say what they know. */
export type Whole<T> = T & { readonly silent: readonly string[] }

export interface ObservationFollower {
  decided(items: readonly Item[], leftOut: number): void
  /** Whenever it changes which replicas cannot be heard. */
  silent(replicas: readonly string[]): void
}
