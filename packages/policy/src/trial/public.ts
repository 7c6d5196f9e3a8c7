// SPDX-License-Identifier: Apache-2.0
// What other packages may use of trials: requests that nobody sent, described by people, and what would happen to them.

export { accountOf, reasonOf, type StageAccount } from "./account.js"
export { type AllowingQuestion, type PolicyEdit, smallestChange } from "./allowing.js"
export type { AskedRequest, AskedToken } from "./asked.js"
export { AskedError } from "./asked-error.js"
export { readCurl, shellWords } from "./curl-line.js"
export { casesIn, generatedTest } from "./generate.js"
export { readLogLine } from "./log-line.js"
export { readAsked } from "./read-asked.js"
export { type RegionCoverage, regionCoverage } from "./region-coverage.js"
export { type TouchedCalls, touchedCalls } from "./replay-calls.js"
export { ruleName } from "./rule-name.js"
export { type CaseResult, type RuleCoverage, runTests, type TestRun } from "./run-tests.js"
export {
  describeRequest,
  type Expectation,
  isPolicyTest,
  type PolicyTestCase,
  type PolicyTestFile,
  readTests,
} from "./test-file.js"
export { tokenHelp } from "./token-help.js"
export { type Answer, Trial } from "./trial.js"
