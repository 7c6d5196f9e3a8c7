// SPDX-License-Identifier: Apache-2.0
// Loads the encoders of route tables and clusters as standard xDS. Envoy's messages are large, and a proxy that only
// receives policies does not need them, so they are loaded on first use.

import type { RouteTable, ServiceCluster, ServiceEndpoint } from "./route-table.js"

/** Type URLs, in the order in which clients subscribe to them. */
export const LISTENER = "type.googleapis.com/envoy.config.listener.v3.Listener"
export const ROUTE_CONFIGURATION = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
export const CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
export const ENDPOINTS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

/** Encoded messages for an Any. */
export interface RouteEncoders {
  /** A client finds the routes under the name `routes`. */
  listener(name: string, routes: string): Uint8Array
  routes(name: string, table: RouteTable): Uint8Array
  cluster(cluster: ServiceCluster): Uint8Array
  endpoints(cluster: string, endpoints: readonly ServiceEndpoint[]): Uint8Array
}

export async function loadRouteEncoders(): Promise<RouteEncoders> {
  const { encodeListener } = await import("./envoy/listener.js")
  const { encodeRoutes } = await import("./envoy/routes.js")
  const { encodeCluster } = await import("./envoy/cluster.js")
  const { encodeEndpoints } = await import("./envoy/endpoints.js")
  return { listener: encodeListener, routes: encodeRoutes, cluster: encodeCluster, endpoints: encodeEndpoints }
}
