// SPDX-License-Identifier: Apache-2.0
// A rule as people name it in tests and read it in answers.

import type { RuleRef } from "./rule.js"

/** `namespace/name[0]`. */
export function ruleName({ policy, rule }: Pick<RuleRef, "policy" | "rule">): string {
  return `${policy.namespace}/${policy.name}[${rule}]`
}
