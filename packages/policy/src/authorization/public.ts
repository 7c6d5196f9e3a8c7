// SPDX-License-Identifier: Apache-2.0
// What other packages may use to judge requests: compiled policies, decisions and their explanations.

export type { Reply } from "../deny-replies.js"
export {
  type Connection,
  type HttpRequest,
  type Judgement,
  judge,
  providersToAsk,
  rejectedByMode,
} from "../judge.js"
export { compile, decide, explain, type Program } from "../program.js"
export {
  type AuthorizationStage,
  type Decision,
  type ProviderReport,
  responseDetails,
  type Verdict,
} from "./decision.js"
export type { ClauseTrace, CriterionTrace, PolicyTrace, RuleTrace, Trace } from "./explain.js"
export { describeNearMiss, type FailedCriterion, type NearMiss } from "./nearest.js"
export { needsHttp } from "./needs-http.js"
export type { PolicyRef, RuleRef } from "./rule.js"
export { ruleName } from "./rule-name.js"
