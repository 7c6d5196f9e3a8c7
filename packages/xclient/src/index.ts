// SPDX-License-Identifier: Apache-2.0
// Calls through the mesh: routes, balancing, mTLS, and the check of a route's weights.

export { CapturedProxy, type CapturedProxyOptions } from "./captured/captured-proxy.js"
export type { CheckIo, CheckOptions, Member } from "./check/check-routes.js"
export { parseExpectation, type Shares } from "./check/expectation.js"
export type { DestinationView, RouteView, ServiceView } from "./check/route-view.js"
export { runXclient, type XclientOptions } from "./check/run-xclient.js"
export { type Target, type TargetArguments, targetOf } from "./check/target.js"
export { XCLIENT_ERRORS } from "./errors.js"
export { MeshMember, type MeshMemberOptions } from "./member/mesh-member.js"
export { WorkloadCalls, type WorkloadCallsOptions } from "./member/workload-calls.js"
export type {
  CallObserver,
  CallRecord,
  CallTrace,
  EjectionRecord,
} from "./observe/call-record.js"
export { OutboundProxy, type OutboundProxyOptions, type ProxyLimits } from "./proxy/outbound-proxy.js"
export { OutboundPolicy } from "./routes/outbound-policy.js"
export { SavedRoutes } from "./routes/saved-routes.js"
