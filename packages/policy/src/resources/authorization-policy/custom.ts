// SPDX-License-Identifier: Apache-2.0
// What a CUSTOM policy must satisfy beyond a DENY policy: a provider, rules, and no condition on what is not known when the
// provider is asked. Istio rejects the same fields.

import { shown } from "../fault.js"
import type { Field } from "../field.js"

const FIELDS = ["namespaces", "serviceAccounts", "principals", "requestPrincipals"].flatMap(name => [
  name,
  `not${name.charAt(0).toUpperCase()}${name.slice(1)}`,
])
const KEYS: readonly string[] = ["source.namespace", "source.serviceAccount", "source.principal"]

export function checkCustom(spec: Field): void {
  const name = spec.field("provider").field("name")
  if (name.text === undefined || name.text === "") {
    name.fault("missing-field", "`provider.name` must not be empty", "name an extension provider of the mesh")
  }
  for (const rule of spec.field("rules").items) {
    for (const item of rule.field("from").items) {
      for (const field of FIELDS) reject(item.field("source").field(field), field)
    }
    for (const condition of rule.field("when").items) {
      const key = condition.field("key")
      const { text = "" } = key
      if (KEYS.includes(text) || text.startsWith("request.auth.")) reject(key, text)
    }
  }
}

function reject(field: Field, name: string): void {
  if (!field.present) return
  field.fault(
    "not-supported",
    `\`${shown(name)}\` is not supported with action CUSTOM`,
    "remove it: the provider is asked before the caller is known",
  )
}
