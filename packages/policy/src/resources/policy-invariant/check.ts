// SPDX-License-Identifier: Apache-2.0
// Checks a PolicyInvariant beyond its schema: at least one entry, unique names, and entries that parse as rules.

import { checkRule } from "../authorization-policy/check.js"
import { shown } from "../document-error.js"
import type { Field } from "../field.js"
import { checkSelector } from "../labels.js"

export function checkPolicyInvariant(spec: Field): void {
  checkSelector(spec.field("selector"))
  const lists = [spec.field("never"), spec.field("always")]
  if (lists.every(({ items, present, value }) => items.length === 0 && (!present || Array.isArray(value)))) {
    spec.error(
      "missing-field",
      "a PolicyInvariant without rules has no effect, add `never` or `always`",
      "add a rule under `never` or `always`",
    )
  }
  const names = new Set<string>()
  for (const rule of lists.flatMap(({ items }) => items)) {
    const name = rule.field("name")
    if (name.text !== undefined && names.has(name.text)) {
      name.error("conflict", `two rules have the name \`${shown(name.text)}\``, "give each a name of its own")
    }
    names.add(name.text ?? "")
  }
  for (const { items } of lists) for (const [index, rule] of items.entries()) checkRule(rule, index)
}
