// SPDX-License-Identifier: Apache-2.0
// The current routes of one host and port: which destination a call goes to, and in which order its endpoints are
// tried. An update replaces the routes and keeps the round-robin position, so that a change of endpoints favours none.

import type { HostRoutesSpec, RouteTraffic, ServiceCluster, WeightedDestination } from "@merlon/xds"
import type { Destination, Destinations } from "../balance/destination.js"
import { EndpointBalancer } from "../balance/endpoint-balancer.js"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import { EndpointOrder } from "../balance/endpoint-order.js"
import { RetryBudget } from "../balance/retry-budget.js"
import { SmoothWeighted } from "../balance/smooth-weighted.js"
import type { Call } from "./call.js"
import { type CallMatcher, callMatcher } from "./call-matcher.js"
import { destinationNames } from "./destination-name.js"

export interface Choice extends RouteTraffic {
  readonly cluster: ServiceCluster
  /** Display name of the destination. */
  readonly name: string
  /** In the order in which they are tried; empty if the destination has none. */
  readonly endpoints: EndpointOrder
  /** Whether none of them is known to be healthy. */
  readonly panic: boolean
  /** Set if a MeshService limits the destination, or ejects endpoints that fail. */
  readonly destination: Destination | undefined
  /** The budget of all requests to the host. */
  readonly budget: RetryBudget
}

interface ReadyRoute {
  readonly matches: CallMatcher
  readonly unconditional: boolean
  readonly destinations: readonly WeightedDestination[]
  readonly split: SmoothWeighted<string>
  readonly traffic: RouteTraffic
}

const NO_ENDPOINTS = { endpoints: new EndpointOrder([]), panic: false }

export class HostRouting {
  readonly #health: EndpointHealth
  readonly #known: Destinations | undefined
  readonly #budget = new RetryBudget()
  #spec: HostRoutesSpec
  #routes: ReadonlyMap<string, ReadyRoute> = new Map()
  #clusters: ReadonlyMap<string, ServiceCluster> = new Map()
  #names: ReadonlyMap<string, string> = new Map()
  #balancers: ReadonlyMap<string, EndpointBalancer> = new Map()
  #destinations: ReadonlyMap<string, Destination | undefined> = new Map()

  /** Throws if a pattern is invalid. */
  constructor(spec: HostRoutesSpec, health: EndpointHealth, destinations?: Destinations) {
    this.#health = health
    this.#known = destinations
    this.#spec = spec
    this.update(spec)
  }

  get spec(): HostRoutesSpec {
    return this.#spec
  }

  /** Throws if a pattern is invalid; the current routes then stay in effect. */
  update(spec: HostRoutesSpec): void {
    const routes = new Map<string, ReadyRoute>()
    for (const { match, destinations, timeoutMs, retries } of spec.table.routes) {
      const matches = callMatcher(match, spec.table.port)
      // Equal conditions with equal destinations are the same route, at any position. A duplicate is never reached.
      const key = JSON.stringify([match, destinations.map(({ cluster }) => cluster)])
      if (routes.has(key)) continue
      const split = this.#routes.get(key)?.split ?? new SmoothWeighted<string>()
      const traffic = { ...(timeoutMs && { timeoutMs }), ...(retries && { retries }) }
      routes.set(key, { matches, unconditional: match.length === 0, destinations, split, traffic })
    }
    for (const { destinations, split } of routes.values()) {
      split.update(destinations.map(({ cluster, weight }) => ({ value: cluster, weight })))
    }
    this.#balancers = new Map(spec.clusters.map(cluster => [cluster.name, this.#balancerOf(cluster)]))
    this.#destinations = new Map(spec.clusters.map(cluster => [cluster.name, this.#known?.of(cluster)]))
    this.#routes = routes
    this.#clusters = new Map(spec.clusters.map(cluster => [cluster.name, cluster]))
    this.#names = destinationNames(spec.clusters)
    this.#spec = spec
  }

  /**
   * Whether the host has endpoints, none of which accepts mutual TLS, and no MeshService routes it or requires mutual
   * TLS.
   */
  get isOutsideMesh(): boolean {
    const { table, clusters } = this.#spec
    const isDefault = table.routes.every(
      ({ match, destinations, timeoutMs, retries }) =>
        match.length === 0 && destinations.length === 1 && timeoutMs === undefined && retries === undefined,
    )
    const isPlain = clusters.every(
      ({ host, port, subset, tlsMode, endpoints, traffic }) =>
        tlsMode === undefined &&
        traffic === undefined &&
        host === table.host &&
        port === table.port &&
        subset === "" &&
        endpoints.length > 0 &&
        endpoints.every(({ mtlsMode }) => mtlsMode === undefined),
    )
    return isDefault && isPlain
  }

  /** The destinations of such a call, without advancing the round robin; undefined if no route takes it. */
  destinationsFor(call: Call): readonly WeightedDestination[] | undefined {
    return this.#routeFor(call)?.destinations
  }

  /** Undefined if no route takes the call, or all its destinations are drained. */
  choose(call: Call): Choice | undefined {
    return this.#take(this.#routeFor(call))
  }

  /** For opaque bytes: uses only a route that matches every call. */
  chooseForBytes(): Choice | undefined {
    for (const route of this.#routes.values()) if (route.unconditional) return this.#take(route)
    return undefined
  }

  #take(route: ReadyRoute | undefined): Choice | undefined {
    const name = route?.split.pick()
    const cluster = name === undefined ? undefined : this.#clusters.get(name)
    if (cluster === undefined || route === undefined) return undefined
    const destination = this.#destinations.get(cluster.name)
    const balancer = this.#balancers.get(cluster.name)
    const { endpoints, panic } = balancer?.next(cluster.endpoints, this.#health, destination?.outliers) ?? NO_ENDPOINTS
    const budget = this.#budget
    return { cluster, name: this.nameOf(cluster.name), endpoints, panic, destination, budget, ...route.traffic }
  }

  #balancerOf({ name, traffic }: ServiceCluster): EndpointBalancer {
    const kind = traffic?.loadBalancer ?? "LEAST_REQUEST"
    const balancer = this.#balancers.get(name) ?? new EndpointBalancer(kind)
    balancer.kind = kind
    return balancer
  }

  cluster(name: string): ServiceCluster | undefined {
    return this.#clusters.get(name)
  }

  nameOf(cluster: string): string {
    return this.#names.get(cluster) ?? cluster
  }

  #routeFor(call: Call): ReadyRoute | undefined {
    for (const route of this.#routes.values()) if (route.matches(call)) return route
    return undefined
  }
}
