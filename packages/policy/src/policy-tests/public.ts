// SPDX-License-Identifier: Apache-2.0
// What other packages may use of policy tests: reading test files, running them, generating them, and measuring coverage.

export { casesIn, generatedTest } from "./generate.js"
export { readDescribedRequest } from "./read-described-request.js"
export { type RegionCoverage, regionCoverage } from "./region-coverage.js"
export { type CaseResult, type RuleCoverage, runTests, type TestRun } from "./run-tests.js"
export {
  describeRequest,
  type Expectation,
  type PolicyTestCase,
  type PolicyTestFile,
  readTests,
} from "./test-file.js"
