// SPDX-License-Identifier: Apache-2.0
// The public face of the road. gRPC and the messages of Envoy are behind functions that load them: whoever imports this
// pays for what it uses.

export { MeshCallError } from "./client/call-error.js"
export type { CertificateAnswer } from "./client/calls.js"
export { MeshClient } from "./client/mesh-client.js"
export {
  type ClientLimits,
  DEFAULT_CLIENT_LIMITS,
  type MeshClientOptions,
  type Proof,
  type Subscription,
  type Update,
} from "./client/options.js"
export { decodeProxyResource } from "./decode.js"
export { encodeProxyResource } from "./encode.js"
export { type FaultCode, XDS_FAULTS } from "./errors.js"
export {
  decodeHostRoutes,
  encodeHostRoutes,
  HOST_ROUTES,
  type HostRoutesSpec,
  type PortMode,
  type ServiceModes,
} from "./host-routes.js"
export { MalformedJson } from "./json-shape.js"
export { type Log, messageOf } from "./log.js"
export { type ApplicationProbe, type Bootstrap, readBootstrap } from "./member/bootstrap.js"
export { Enrolment, type EnrolmentOptions } from "./member/enrolment.js"
export { readPrivateFile, writePrivateFile } from "./member/private-file.js"
export { ConfigurationError, Reader } from "./member/reader.js"
export type { WorkloadPapers } from "./member/workload-papers.js"
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
export { DEFAULT_SERVER_LIMITS, type ServerLimits, type StreamLimits } from "./server/limits.js"
export type { Papers } from "./server/listener.js"
export { MeshServer } from "./server/mesh-server.js"
export type { MeshServerObserver, Protocol } from "./server/observer.js"
export type { MeshServerOptions } from "./server/options.js"
export type { PeerCertificate } from "./server/peer-certificate.js"
export type { ProxyCalls, SignedCertificate } from "./server/serve-calls.js"
export type {
  Caller,
  ClientNode,
  Refusal,
  ResourceSource,
  Snapshot,
  Subscriber,
  VersionedResource,
} from "./server/source.js"
