// SPDX-License-Identifier: Apache-2.0
// Envoy's external authorization protocol (`envoy.service.auth.v3.Authorization/Check`) as plain values.

export { type CheckAnswer, type CheckQuestion, readCheck, writeCheck } from "./check.js"
export { type CheckResult, type ProviderCheck, readCheckResult, writeProviderCheck } from "./check-client.js"
