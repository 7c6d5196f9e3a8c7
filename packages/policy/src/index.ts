// SPDX-License-Identifier: Apache-2.0
// Everything that other packages may use. docs/policy-library.md shows it by example, in the order of use: documents are
// read and validated (`readDocuments`, `validate`), compiled for a workload (`compile`), a request is judged (`judge`) and
// explained (`explain`); a set is looked through (`analyze`), proven (`checkInvariants`, `diffSets`, `reachOf`) and tested
// (`runTests`). Parts with many names list their own in `public.ts`.

export { type AnalysisOptions, analysis, analyze } from "./analysis/analyze.js"
export { type AnalysisFinding, FINDINGS, type FindingCode, type Severity } from "./analysis/finding.js"
export type { KnownWorkload } from "./analysis/policy-set.js"
export { type AuthorizationStage, type Decision, responseDetails, type Verdict } from "./authorization/decision.js"
export type { ClauseTrace, CriterionTrace, PolicyTrace, RuleTrace, Trace } from "./authorization/explain.js"
export { describeNearMiss, type FailedCriterion, type NearMiss } from "./authorization/nearest.js"
export { needsHttp } from "./authorization/needs-http.js"
export type { PolicyRef, RuleRef } from "./authorization/rule.js"
export { type Connection, type HttpRequest, type Judgement, judge, type Reply, refusedByMode } from "./judge.js"
export * from "./ledger/public.js"
export { type MeshConfig, meshConfig, PATH_NORMALIZATIONS, type PathNormalization } from "./mesh/config.js"
export { type MeshNames, meshNames } from "./mesh/names.js"
export { type EffectiveMode, type Loser, type ModeResolution, PeerModes, peerScope } from "./peer/mode.js"
export { compile, decide, explain, type Program } from "./program.js"
export * from "./proof/public.js"
export type { Attributes, Claim, HeaderLines, HttpAttributes, VerifiedToken } from "./request/attributes.js"
export { readableText } from "./request/byte-text.js"
export { type Cidr, type IpAddress, parseCidr, parseIp } from "./request/ip.js"
export { normalizePath, type Target } from "./request/path.js"
export { foldedName, nominatedHeaders, PROXY_HEADERS, type ProtectedHeaders } from "./request/protected-headers.js"
export { remoteAddress } from "./request/remote-address.js"
export { parseSpiffeId, type SpiffeId, spiffeId } from "./request/spiffe-id.js"
export * from "./resources/public.js"
export { select } from "./selection/select.js"
export { isShadow } from "./selection/shadow.js"
export { byAge, selects, type Workload } from "./selection/workload.js"
export * from "./shape.js"
export {
  type Evidence,
  type Proof,
  type Suggestion,
  type SuggestOptions,
  suggestPolicies,
} from "./suggest/suggest.js"
export * from "./tokens/public.js"
export * from "./trial/public.js"
