// SPDX-License-Identifier: Apache-2.0
// The limits of a MeshService for one destination, and its current load: connections, waiting and running requests,
// ejected endpoints. There is one per destination, however many names and addresses lead to it.

import type { SharedLimits } from "@merlon/wire/http"
import { Quota } from "@merlon/wire/limits"
import type { ConnectionPoolSpec, ServiceCluster } from "@merlon/xds"
import { type Ejection, OutlierDetector } from "./outlier-detector.js"

const DEFAULT_PENDING = 1_024
const OWNER = ""

export class Destination implements SharedLimits {
  readonly connections = new Quota({ all: Number.POSITIVE_INFINITY })
  readonly pending = new Quota({ all: DEFAULT_PENDING })
  readonly #requests = new Quota({ all: Number.POSITIVE_INFINITY })
  readonly #detector: OutlierDetector
  #limits: ConnectionPoolSpec | undefined
  #outliers: OutlierDetector | undefined

  constructor(detector: OutlierDetector) {
    this.#detector = detector
  }

  update({ traffic, endpoints }: Pick<ServiceCluster, "traffic" | "endpoints">): void {
    const { connectionPool, outlierDetection } = traffic ?? {}
    this.#limits = connectionPool
    this.connections.resize(connectionPool?.maxConnections ?? Number.POSITIVE_INFINITY)
    this.pending.resize(connectionPool?.maxPendingRequests ?? DEFAULT_PENDING)
    this.#requests.resize(connectionPool?.maxRequests ?? Number.POSITIVE_INFINITY)
    this.#outliers = outlierDetection === undefined ? undefined : this.#detector
    if (outlierDetection !== undefined) this.#detector.update(outlierDetection, endpoints)
  }

  /** Undefined if the MeshService has no `connectionPool`. */
  get limits(): ConnectionPoolSpec | undefined {
    return this.#limits
  }

  /** Undefined if the MeshService has no `outlierDetection`. */
  get outliers(): OutlierDetector | undefined {
    return this.#outliers
  }

  get requestsPerConnection(): number {
    return this.#limits?.maxRequestsPerConnection ?? 0
  }

  /** False if too many requests are in flight. Every begun request must be ended. */
  beginRequest(): boolean {
    return this.#requests.take(OWNER)
  }

  endRequest(): void {
    this.#requests.release(OWNER)
  }

  /** For a connection that carries bytes. False if there are too many. Every opened connection must be closed. */
  openConnection(): boolean {
    return this.connections.take(OWNER)
  }

  closeConnection(): void {
    this.connections.release(OWNER)
  }
}

export type EjectionSink = (cluster: ServiceCluster, ejection: Ejection) => void

export class Destinations {
  readonly #now: () => number
  readonly #onEjection: EjectionSink
  /** Routes hold their destination. A destination without routes is garbage-collected. */
  readonly #known = new Map<string, WeakRef<Destination>>()
  readonly #gone = new FinalizationRegistry<string>(name => {
    if (this.#known.get(name)?.deref() === undefined) this.#known.delete(name)
  })

  constructor(onEjection: EjectionSink = () => undefined, now: () => number = Date.now) {
    this.#onEjection = onEjection
    this.#now = now
  }

  /** The destination with the cluster's current limits; undefined if nothing is limited. */
  of(cluster: ServiceCluster): Destination | undefined {
    const { connectionPool, outlierDetection } = cluster.traffic ?? {}
    if (connectionPool === undefined && outlierDetection === undefined) return undefined
    const destination = this.#known.get(cluster.name)?.deref() ?? this.#create(cluster)
    destination.update(cluster)
    return destination
  }

  #create(cluster: ServiceCluster): Destination {
    const destination = new Destination(new OutlierDetector(this.#now, ejection => this.#onEjection(cluster, ejection)))
    this.#known.set(cluster.name, new WeakRef(destination))
    this.#gone.register(destination, cluster.name)
    return destination
  }
}
