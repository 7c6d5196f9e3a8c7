// SPDX-License-Identifier: Apache-2.0
// The inbound proxy: how to start one, in one process or several, from a file or from the control plane, with its log.

export { LOG_LEVELS, type LogLevel } from "./admin/admin-server.js"
export {
  FORWARD_AUTH,
  type ForwardAuthKind,
  Gateways,
  type GatewayTrust,
  type TrustedStatement,
} from "./authorizer/gateway-trust.js"
export type { ApplicationPort } from "./config/application-port.js"
export type { Configuration, Revocations, TlsMaterial } from "./config/configuration.js"
export { readConfigurationFile } from "./config/file.js"
export { Gate, type GateOptions } from "./enforcement/gate.js"
export { XSERVER_ERRORS } from "./errors.js"
export { DEFAULT_LIMITS, type LimitName, type Limits } from "./limits.js"
export { MeshSource, type MeshSourceOptions } from "./mesh/mesh-source.js"
export type { ReportedCalls } from "./mesh/observations.js"
export { keepCredentials } from "./mesh/saved-state.js"
export type { AccessLogFormat } from "./observe/access-log.js"
export type { DataPath } from "./process/data-path.js"
export { FileSource, type FileSourceOptions } from "./process/file-source.js"
export { type DataPathOptions, LocalDataPath } from "./process/local-data-path.js"
export { keepMemorySmall } from "./process/process-memory.js"
export type { ConfigurationSource, Sink } from "./process/source.js"
export { runWorker } from "./process/worker.js"
export { WorkerPool } from "./process/worker-pool.js"
export { type Address, Xserver, type XserverOptions } from "./process/xserver.js"
export { tracesUrl } from "./trace/collector.js"
export type { TraceOptions } from "./trace/tracer.js"
