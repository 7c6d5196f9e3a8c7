// SPDX-License-Identifier: Apache-2.0
// The name of a rule in policy tests and in answers.

import type { RuleRef } from "./rule.js"

/** As it is told: by the name that the mesh gives it, else as `ruleName`. */
export function ruleTitle(ref: RuleRef): string {
  return ref.alias ?? ruleName(ref)
}

/** `namespace/name[0]`. */
export function ruleName({ policy, rule }: Pick<RuleRef, "policy" | "rule">): string {
  return `${policy.namespace}/${policy.name}[${rule}]`
}
