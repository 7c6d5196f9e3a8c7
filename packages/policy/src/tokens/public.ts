// SPDX-License-Identifier: Apache-2.0
// What other packages may use of tokens: key sets, compiled rules, and the decision on one request.

export { TOKEN_ALGORITHMS, type TokenAlgorithm } from "./algorithms.js"
export { type Authentication, authenticate, type ShadowOutcome } from "./authenticate.js"
export { NO_EDITS, type RequestEdits } from "./edits.js"
export type { TokenRequest } from "./finder.js"
export { type JsonObject, parseUnambiguousJsonObject } from "./json-object.js"
export { type KeySet, type KeySetError, type KeySetResult, parseKeySet } from "./key-set.js"
export { TokenMemory } from "./memory.js"
export { compileTokenRules, type KeySetLookup, keySetId, type TokenProgram } from "./program.js"
export { responseDetail } from "./reply.js"
export type { TokenRuleRef } from "./rule.js"
export { TOKEN_ERRORS, type TokenError, tokenErrorAdvice, tokenErrorStatus, tokenErrorText } from "./token-errors.js"
