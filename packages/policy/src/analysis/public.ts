// SPDX-License-Identifier: Apache-2.0
// What other packages may use of analysis: findings about a set of policies, and policies suggested from observed calls.

export {
  type Evidence,
  type Proof,
  type Suggestion,
  type SuggestOptions,
  suggestPolicies,
} from "../suggest/suggest.js"
export { type AnalysisOptions, analysis, analyze } from "./analyze.js"
export { type AnalysisFinding, FINDINGS, type FindingCode, type Severity } from "./finding.js"
export type { KnownWorkload } from "./policy-set.js"
