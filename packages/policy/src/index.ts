// SPDX-License-Identifier: Apache-2.0
// The public face of the judgement: everything other packages may use, in reading order.

export { type AnalysisOptions, analysis, analyze } from "./analysis/analyze.js"
export { type AnalysisFinding, FINDINGS, type FindingCode, type Severity } from "./analysis/finding.js"
export type { KnownWorkload } from "./analysis/policy-set.js"
export { type AuthorizationStage, type Decision, responseDetails, type Verdict } from "./authorization/decision.js"
export type { ClauseTrace, CriterionTrace, PolicyTrace, RuleTrace, Trace } from "./authorization/explain.js"
export { describeNearMiss, type FailedCriterion, type NearMiss } from "./authorization/nearest.js"
export { needsHttp } from "./authorization/needs-http.js"
export type { PolicyRef, RuleRef } from "./authorization/rule.js"
export { type Connection, type HttpRequest, type Judgement, judge, type Reply, refusedByMode } from "./judge.js"
export { type MeshConfig, meshConfig, type PathNormalization } from "./mesh/config.js"
export { type MeshNames, meshNames } from "./mesh/names.js"
export { type EffectiveMode, type Loser, type ModeResolution, PeerModes, peerScope } from "./peer/mode.js"
export { compile, decide, explain, type Program } from "./program.js"
export { type Limits, PATIENT } from "./proof/budget.js"
export { describeWitness } from "./proof/describe-witness.js"
export { OUTCOMES, type Outcome } from "./proof/outcome.js"
export {
  type Assessment,
  type AssessOptions,
  assessChange,
  type PolicyStep,
  tellStatement,
} from "./proof/questions/assess-change.js"
export { type Change, type CompareOptions, type Comparison, compareSets } from "./proof/questions/compare.js"
export { type DeadRule, type DeadRules, deadRules } from "./proof/questions/dead-rules.js"
export { type Diff, type DiffGroup, diffSets } from "./proof/questions/diff.js"
export {
  type CheckedStatement,
  type CheckOptions,
  checkInvariants,
  isAbout,
  type StatementRef,
  type StatementVerdict,
} from "./proof/questions/invariants.js"
export { type Reach, type ReachOptions, reachOf, type Way } from "./proof/questions/reach.js"
export { DocumentsByNamespace } from "./proof/selected.js"
export type { Witness, WitnessToken } from "./proof/witness.js"
export { describeRule, ruleWords } from "./proof/words.js"
export type { ProofWorkload } from "./proof/workload.js"
export type { Attributes, Claim, HeaderLines, HttpAttributes, VerifiedToken } from "./request/attributes.js"
export { type Cidr, type IpAddress, parseCidr, parseIp } from "./request/ip.js"
export { normalizePath, normalizeTarget, type Target } from "./request/path.js"
export { remoteAddress } from "./request/remote-address.js"
export { parseSpiffeId, type SpiffeId, spiffeId } from "./request/spiffe-id.js"
export { type CustomResourceDefinition, customResourceDefinitions, type JsonSchema } from "./resources/crd.js"
export { describe } from "./resources/describe.js"
export type {
  AuthorizationPolicy,
  Kind,
  MeshService,
  Metadata,
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
  RequestAuthentication,
  Status,
  StatusCondition,
} from "./resources/document.js"
export { durationMilliseconds, parseDuration } from "./resources/duration.js"
export {
  FAULTS,
  type Fault,
  type FaultCode,
  type Path,
  type Position,
  refusal,
  renderPath,
  WARNINGS,
  type Warning,
  type WarningCode,
} from "./resources/fault.js"
export { generatedFiles } from "./resources/generated-files.js"
export { apiVersionOf, KINDS, type KindDefinition, servedVersions } from "./resources/kinds.js"
export type {
  ClientTlsMode,
  Destination,
  MeshRule,
  Route,
  RouteMatch,
  StringMatch,
  TrafficPolicy,
} from "./resources/mesh-service/definition.js"
export { stringMatcher } from "./resources/mesh-service/string-match.js"
export { nearest } from "./resources/nearest.js"
export type { MtlsMode } from "./resources/peer-authentication/definition.js"
export { type ReadDocument, type ReadOptions, readDocuments } from "./resources/read.js"
export type { JwtRule } from "./resources/request-authentication/definition.js"
export { type ValidateOptions, type Validation, validate } from "./resources/validate.js"
export { select } from "./selection/select.js"
export { isShadow } from "./selection/shadow.js"
export { byAge, selects, type Workload } from "./selection/workload.js"
export { type Authentication, authenticate, type ShadowOutcome } from "./tokens/authenticate.js"
export { NO_EDITS, type RequestEdits } from "./tokens/edits.js"
export { faultStatus, faultText, TOKEN_FAULTS, type TokenFault } from "./tokens/faults.js"
export type { TokenRequest } from "./tokens/finder.js"
export { type KeySet, type KeySetError, type KeySetResult, parseKeySet } from "./tokens/key-set.js"
export { TokenMemory } from "./tokens/memory.js"
export { compileTokenRules, type KeySetLookup, keySetId, type TokenProgram } from "./tokens/program.js"
export { grpcStatus, responseDetail } from "./tokens/reply.js"
export type { TokenRuleRef } from "./tokens/rule.js"
export { accountOf, reasonOf, type StageAccount } from "./trial/account.js"
export { type AllowingQuestion, type PolicyEdit, smallestChange } from "./trial/allowing.js"
export { AskedError, type AskedRequest, type AskedToken } from "./trial/asked.js"
export { readCurl } from "./trial/curl-line.js"
export { readLogLine } from "./trial/log-line.js"
export { ruleName } from "./trial/rule-name.js"
export { type CaseResult, type RuleCoverage, runTests, type TestRun } from "./trial/run-tests.js"
export {
  describeRequest,
  type Expectation,
  isPolicyTest,
  type PolicyTestCase,
  type PolicyTestFile,
  readTests,
} from "./trial/test-file.js"
export { tokenHelp } from "./trial/token-help.js"
export { type Answer, Trial } from "./trial/trial.js"
