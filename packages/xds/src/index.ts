// SPDX-License-Identifier: Apache-2.0
// How configuration travels from control plane to proxy: `MeshServer` and `MeshClient`, what travels between them, and how
// a workload joins (`readBootstrap`, `Enrolment`). Calls and the messages of Envoy are behind functions that load them,
// so that whoever imports this pays for what it uses.

export { bindHost } from "./bind-host.js"
export { canonicalJson, contentVersion } from "./canonical-json.js"
export { MeshCallError } from "./client/call-error.js"
export type { CertificateAnswer } from "./client/calls.js"
export { LastSession } from "./client/last-session.js"
export { MeshClient } from "./client/mesh-client.js"
export type { ClientLimits, MeshClientOptions, Proof, Subscription, Update } from "./client/options.js"
export { decodeProxyResource } from "./decode.js"
export { Emitter } from "./emitter.js"
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

export { Lane } from "./lane.js"
export { fileOutput, type LineOutput, standardOutput } from "./line-output.js"
export { afterLiving } from "./lived-time.js"
export { type Log, messageOf } from "./log.js"
export { MalformedResource } from "./malformed-resource.js"
export { type ApplicationProbe, type Bootstrap, readBootstrap } from "./member/bootstrap.js"
export { readCheckedFile, writeCheckedFile } from "./member/checked-file.js"
export { ConfigurationError, readSettings } from "./member/configuration-error.js"
export { Enrolment, type EnrolmentOptions } from "./member/enrolment.js"
export { readPrivateFile, removePrivateFile, writePrivateFile } from "./member/private-file.js"
export { PROXY_ENVIRONMENT } from "./member/proxy-environment.js"
export { readUtf8File } from "./member/utf8-file.js"
export type { WorkloadCredentials } from "./member/workload-credentials.js"
export {
  type Inquiry,
  MAX_CALLS,
  MAX_DECISIONS,
  type Observation,
  type ObservationSource,
  type ObservedDecision,
} from "./observation.js"
export { isOwnUser } from "./peer-uid.js"
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
export * from "./server/public.js"
export { lookFirst, shownCertificate } from "./shown-certificate.js"
export { trustVersion } from "./trust-version.js"
