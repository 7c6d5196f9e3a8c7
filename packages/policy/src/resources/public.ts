// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the kinds and their documents: reading, validating, describing errors, and the data for
// scripts/generate.

export { PLAIN_ATTRIBUTES } from "./authorization-policy/condition-key.js"
export type { TargetRef } from "./common.js"
export { type CustomResourceDefinition, customResourceDefinitions, type JsonSchema } from "./crd.js"
export { describe } from "./describe.js"
export type {
  AuthorizationPolicy,
  Kind,
  MeshService,
  Metadata,
  ObjectMeta,
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
  RequestAuthentication,
  Status,
  StatusCondition,
} from "./document.js"
export {
  DOCUMENT_ERRORS,
  type DocumentError,
  type DocumentErrorCode,
  type ErrorTable,
  type Path,
  type Position,
  rejection,
  WARNINGS,
  type Warning,
  type WarningCode,
} from "./document-error.js"
export { apiVersionOf, exampleDocument, KINDS, type KindDefinition, servedVersions } from "./kinds.js"
export { listItems } from "./list-items.js"
export type {
  ClientTlsMode,
  ConnectionPool,
  Destination,
  MeshRule,
  OutlierDetection,
  Retries,
  Route,
  RouteMatch,
  StringMatch,
  TrafficPolicy,
} from "./mesh-service/definition.js"
export { stringMatcher } from "./mesh-service/string-match.js"
export { DEFAULT_RETRY_ON, RETRY_CONDITIONS } from "./mesh-service/traffic.js"
export type { MtlsMode } from "./peer-authentication/definition.js"
export { isPolicyTest } from "./policy-test.js"
export { type ReadDocument, type ReadOptions, readDocuments } from "./read.js"
export type { JwtRule } from "./request-authentication/definition.js"
export type { CelRule, Rejected } from "./schema.js"
export { type ValidateOptions, type Validation, validate } from "./validate.js"
