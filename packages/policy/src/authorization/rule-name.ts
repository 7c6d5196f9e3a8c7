// SPDX-License-Identifier: Apache-2.0
// The name of a rule in policy tests and in answers.

import type { RuleRef } from "./rule.js"

/** The rule's name for people: the mesh's own name for it, or else `ruleName`. */
export function ruleTitle(ref: RuleRef): string {
  return ref.alias ?? ruleName(ref)
}

/** `namespace/name[0]`. */
export function ruleName({ policy, rule }: Pick<RuleRef, "policy" | "rule">): string {
  return `${policy.namespace}/${policy.name}[${rule}]`
}
