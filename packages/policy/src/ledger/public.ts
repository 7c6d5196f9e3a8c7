// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the ledger: calls by their shape, as proxies count them and the control plane keeps them.

export {
  type CallRule,
  type CallShape,
  type CallStage,
  callKey,
  mergeCalls,
  type ObservedCall,
  ruleText,
} from "./call.js"
export { readCall, readCalls, writeCall } from "./call-codec.js"
export { CallSet } from "./call-set.js"
export { PathTemplates, type TemplatePlace } from "./path-templates.js"
