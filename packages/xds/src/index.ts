// SPDX-License-Identifier: Apache-2.0
// The protocol between a control plane and its proxies: resources, routes, observations, and their encoding. The two
// ends are separate exports, `@merlon/xds/server` and `@merlon/xds/client`. Envoy's messages are loaded on demand, so
// that proxies, which do not need them, do not load them.

export { decodeProxyResource } from "./decode.js"
export { encodeProxyResource } from "./encode.js"
export { type CallErrorCode, XDS_ERRORS } from "./errors.js"
export {
  decodeHostRoutes,
  encodeHostRoutes,
  HOST_ROUTES,
  type HostRoutesSpec,
  type PortMode,
  type RoutedProtocol,
  type ServiceModes,
} from "./host-routes.js"

export { MalformedResource } from "./malformed-resource.js"
export {
  CALL_TRANSPORTS,
  type CalledDestination,
  type CallTransport,
  type Inquiry,
  MAX_CALLS,
  MAX_DECISIONS,
  MAX_DESTINATIONS,
  type Observation,
  type ObservationSource,
  type ObservedDecision,
} from "./observation.js"
export {
  decodeOutboundPolicy,
  encodeOutboundPolicy,
  MAX_MTLS_BLOCKS,
  OUTBOUND_MODES,
  OUTBOUND_POLICY,
  type OutboundMode,
  type OutboundPolicySpec,
} from "./outbound-policy.js"
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
export { resourceVersion } from "./resource-version.js"
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
export {
  type ClusterTraffic,
  type ConnectionPoolSpec,
  LOAD_BALANCERS,
  type LoadBalancer,
  type OutlierDetectionSpec,
  type RetrySpec,
  type RouteTraffic,
} from "./traffic.js"
export { trustVersion } from "./trust-version.js"
