// SPDX-License-Identifier: Apache-2.0
// The public face of the road.

export {
  decodeHostRoutes,
  encodeHostRoutes,
  HOST_ROUTES,
  type HostRoutesSpec,
  type PortMode,
  type ServiceModes,
} from "./host-routes.js"
export {
  type KeySetSpec,
  type MeshSpec,
  type PortSpec,
  PROXY_RESOURCE,
  type ProbeSpec,
  type ProxyResource,
  resourceNames,
  type TrustSpec,
  type WorkloadSpec,
} from "./proxy-resource.js"
export {
  CLUSTER,
  ENDPOINTS,
  LISTENER,
  loadRouteEncoders,
  ROUTE_CONFIGURATION,
  type RouteEncoders,
} from "./route-encoders.js"
export {
  type ClusterKey,
  clusterName,
  parseClusterName,
  type RouteTable,
  type ServiceCluster,
  type ServiceEndpoint,
  type WeightedDestination,
  type WeightedRoute,
} from "./route-table.js"
export type {
  Caller,
  ClientNode,
  Refusal,
  ResourceSource,
  Snapshot,
  Subscriber,
  VersionedResource,
} from "./server/source.js"
