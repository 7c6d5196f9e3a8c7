// SPDX-License-Identifier: Apache-2.0
// A rule as JSON text, computed once per document.

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
