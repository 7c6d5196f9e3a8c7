// SPDX-License-Identifier: Apache-2.0
// The cost of compiling, comparing and enforcing an AuthorizationPolicy: its values, the segments of paths and
// principals, and alternatives multiplied by conditions. Bounded per document, since one control plane compiles the
// policies of all tenants, and a proxy compiles those of its namespace with each change.

import type { Field } from "../field.js"

/** Far more than people write: 4,096 principals in one list are a fifth of it. */
const MAX_POLICY_SIZE = 100_000

export function checkPolicySize(spec: Field): void {
  let total = 0
  for (const rule of spec.field("rules").items) {
    const size = ruleSize(rule)
    total += size
    if (total <= MAX_POLICY_SIZE) continue
    rule.error(
      "too-large",
      `the rule compiles to ${size} parts, and with the rules before it the policy has more than ${MAX_POLICY_SIZE}`,
      "use fewer or shorter values, fewer alternatives beside many conditions, or split the policy",
    )
    return
  }
}

/** Every alternative is combined with every condition; the size of a value is the number of its parts. */
function ruleSize(rule: Field): number {
  const from = rule.field("from").items
  const to = rule.field("to").items
  const when = rule.field("when").items
  let size = 1 + (from.length + to.length) * when.length
  for (const item of from) size += listsSize(item.field("source"))
  for (const item of to) size += listsSize(item.field("operation"))
  for (const condition of when) size += listsSize(condition)
  return size
}

function listsSize(content: Field): number {
  let size = 0
  for (const [, list] of content.entries) for (const { text } of list.items) size += partsOf(text ?? "")
  return size
}

const SEPARATORS = new Set(["/", "*"])

function partsOf(value: string): number {
  let parts = 1
  for (const character of value) if (SEPARATORS.has(character)) parts++
  return parts
}
