// SPDX-License-Identifier: Apache-2.0
// What other packages may use of trials: hypothetical requests described by people, and their results.

export { accountOf, reasonOf, type StageAccount } from "./account.js"
export { type AllowingQuestion, type PolicyEdit, smallestChange } from "./allowing.js"
export { readCurl, shellWords } from "./curl-line.js"
export type { DescribedRequest, DescribedToken } from "./described-request.js"
export { type EnvoyLine, readEnvoyLine } from "./envoy-line.js"
export { readLogLine } from "./log-line.js"
export { type TouchedCalls, touchedCalls } from "./replay-calls.js"
export { RequestDescriptionError } from "./request-description-error.js"
export { type AnswerSummary, summaryOf } from "./summary.js"
export { tokenHelp } from "./token-help.js"
export { type Answer, Trial } from "./trial.js"
