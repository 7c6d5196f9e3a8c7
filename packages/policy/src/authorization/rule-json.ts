// SPDX-License-Identifier: Apache-2.0
// A rule as it is written, as text; made once for as long as the document lives.

import type { Rule } from "../resources/authorization-policy/definition.js"

const texts = new WeakMap<Rule, string>()

export function ruleJson(rule: Rule): string {
  let text = texts.get(rule)
  if (text === undefined) {
    text = JSON.stringify(rule)
    texts.set(rule, text)
  }
  return text
}
