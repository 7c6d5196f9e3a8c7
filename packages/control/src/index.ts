// SPDX-License-Identifier: Apache-2.0
// The control plane: what is stored becomes what each proxy enforces, and what became of it is told.

export {
  type CaptureChoices,
  type CapturedPort,
  iptablesRules,
  nftRules,
  parseCaptureMap,
} from "./admission/capture-rules.js"
export { type InjectedTemplate, injectTemplate } from "./admission/inject-template.js"
export type { InjectionOptions } from "./admission/injection-options.js"
export { type CidrBlock, type OutboundCapture, parseCidrList, parsePortList } from "./admission/outbound-capture.js"
export { type ProxyResources, proxyResources } from "./admission/proxy-resources.js"
export { type UnprotectedPod, unprotectedPods } from "./admission/unprotected-pods.js"
export { runnerOf } from "./answers/workload-names.js"
export { invitationAudience } from "./callers/invitations.js"
export { CONTROL_FAULTS } from "./errors.js"
export { componentNames } from "./install/component-names.js"
export { type InstalledObject, installedObjects, installManifests } from "./install/control-plane-manifests.js"
export { definitionManifests } from "./install/install.js"
export { SERVE_ENVIRONMENT } from "./install/serve-environment.js"
export { bootstrapServiceAccount } from "./install/service-account.js"
export { assignments, defaultValues, type InstallValues, readValues, valueTable } from "./install/values.js"
export { statusError } from "./kubernetes/api-failure.js"
export { ApiError, type KubernetesClient } from "./kubernetes/client.js"
export { type Connection, ConnectionError } from "./kubernetes/connection.js"
export { connectionFrom } from "./kubernetes/connection-from.js"
export { type HttpKubernetesClient, httpClient } from "./kubernetes/http-client.js"
export { inClusterConnection } from "./kubernetes/in-cluster.js"
export { type PassingApi, passingApi, withToken } from "./kubernetes/passing.js"
export { isPathSegment, type Place, type Query, resourcePath } from "./kubernetes/resource-path.js"
export * from "./kubernetes/resource-type.js"
export { SYSTEM_TIME } from "./kubernetes/time.js"
export { type Api, type ApiRequest, Transport } from "./kubernetes/transport.js"
export type { ControlPlaneOptions } from "./options.js"
export { PROOF_BUDGET_MS } from "./proofs/proof-budgets.js"
export { applicationPorts } from "./registry/application-ports.js"
export { isProxied } from "./registry/pod-reading.js"
export { XSERVER_UID } from "./registry/privileges.js"
export { ControlPlane, type ControlPlanePorts } from "./serve/control-plane.js"
