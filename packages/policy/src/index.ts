// SPDX-License-Identifier: Apache-2.0
// The public face of the judgement: everything other packages may use, in reading order.

export { type MeshConfig, meshConfig, type PathNormalization } from "./mesh/config.js"
export { type MeshNames, meshNames } from "./mesh/names.js"

export {
  type Attributes,
  type Claim,
  type HeaderLines,
  type HttpAttributes,
  principalKey,
  type VerifiedToken,
} from "./request/attributes.js"
export { type Cidr, type IpAddress, parseCidr, parseIp } from "./request/ip.js"
export { normalizePath, normalizeTarget, type Target } from "./request/path.js"
export { parseSpiffeId, type SpiffeId, spiffeId } from "./request/spiffe-id.js"

export type {
  AuthorizationPolicy,
  Kind,
  MeshService,
  Metadata,
  PeerAuthentication,
  PolicyDocument,
  RequestAuthentication,
  Status,
  StatusCondition,
} from "./resources/document.js"

export { select } from "./selection/select.js"
export { isShadow } from "./selection/shadow.js"
export { selects, type Workload } from "./selection/workload.js"

export { type AuthorizationStage, type Decision, responseDetails, type Verdict } from "./authorization/decision.js"
export type { ClauseTrace, CriterionTrace, PolicyTrace, RuleTrace, Trace } from "./authorization/explain.js"
export { describeNearMiss, type FailedCriterion, type NearMiss } from "./authorization/nearest.js"
export type { PolicyRef, RuleRef } from "./authorization/rule.js"
export { type EffectiveMode, type Loser, type ModeResolution, PeerModes, peerScope } from "./peer/mode.js"
export { compile, decide, explain, type Program } from "./program.js"
