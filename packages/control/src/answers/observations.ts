// SPDX-License-Identifier: Apache-2.0
// Facts about proxies that only the replica has to which they are connected: decisions, revisions, recent reports. A
// replica has this for its own proxies (`local-observations.ts`) and asks the others for theirs
// (`mesh-observations.ts`).

import type { ProxyReport } from "../observe/proxy-report.js"
import type { Item } from "./api/item.js"
import type { WorkloadDestination } from "./destinations.js"
import type { TrafficMinute } from "./traffic.js"

export interface ObservedDecisions {
  /** Newest first. */
  readonly items: readonly Item[]
  /** Number of further decisions. */
  readonly remaining: number
  /** Proxies that were queried, and proxies that are known. */
  readonly asked: number
  readonly known: number
}

export interface ObservedProxies {
  /** Sorted by key. */
  readonly reports: readonly ProxyReport[]
  /** How long the last changes took until all proxies enforced them, in milliseconds. */
  readonly took: readonly number[]
}

export interface ObservedDestinations {
  /** Most recently called first. */
  readonly destinations: readonly WorkloadDestination[]
  /** Proxies that were queried, and known proxies that handle outbound calls. */
  readonly asked: number
  readonly known: number
}

export interface ObservedTraffic {
  /** Oldest first. */
  readonly minutes: readonly TrafficMinute[]
}

/** Adds the names of replicas that did not answer. */
export type Merged<T> = T & { readonly silent: readonly string[] }

export interface ObservationFollower {
  decided(items: readonly Item[], leftOut: number): void
  /** Called whenever the set of unreachable replicas changes. */
  silent(replicas: readonly string[]): void
}
