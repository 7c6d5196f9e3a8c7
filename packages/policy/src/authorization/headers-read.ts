// SPDX-License-Identifier: Apache-2.0
// The headers that enforced rules read. Policies in shadow mode do not count, because they decide nothing.

import { parseConditionKey } from "../resources/authorization-policy/condition-key.js"
import type { Authorization } from "./authorization.js"

/** Names in lower case, including pseudo-headers (`:path`). */
export function headersRead({ httpPolicies }: Authorization): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { shadow, rules } of httpPolicies) {
    if (shadow) continue
    // Only conditions name headers.
    for (const { when } of rules) {
      for (const { attribute } of when) {
        const key = parseConditionKey(attribute.name)
        if (!("problem" in key) && key.attribute === "request.headers") names.add(key.name)
      }
    }
  }
  return names
}
