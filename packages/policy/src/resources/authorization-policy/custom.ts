// SPDX-License-Identifier: Apache-2.0
// The additional requirements for a CUSTOM policy compared with a DENY policy: a provider, and no condition on the
// caller, because the provider judges the caller. Istio rejects the same fields.

import { shown } from "../document-error.js"
import type { Field } from "../field.js"

const FIELDS = ["namespaces", "serviceAccounts", "principals", "requestPrincipals"].flatMap(name => [
  name,
  `not${name.charAt(0).toUpperCase()}${name.slice(1)}`,
])
const KEYS: readonly string[] = ["source.namespace", "source.serviceAccount", "source.principal"]

const MAX_LISTED = 10
const NAME_ONE = "name a provider that the mesh configuration declares"

export function checkCustom(spec: Field): void {
  const provider = spec.field("provider")
  if (!provider.present) {
    provider.field("name").error("missing-field", "`provider.name` must not be empty", NAME_ONE)
  }
  const enforcement = spec.field("enforcement")
  if (enforcement.text === "Shadow") {
    enforcement.error(
      "conflict",
      "action CUSTOM has no shadow mode: its provider would have to be asked",
      "remove `enforcement`, or use another action",
    )
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

/** If the mesh does not declare the provider, every request that the provider must be asked about would be denied. */
export function checkProvider(spec: Field, declared: readonly { readonly name: string }[]): void {
  const name = spec.field("provider").field("name")
  if (name.text === undefined || name.text === "" || declared.some(one => one.name === name.text)) return
  const known = declared.map(one => `\`${shown(one.name)}\``)
  name.error(
    "unknown-value",
    `provider \`${shown(name.text)}\` is not declared in the mesh configuration`,
    known.length === 0 ? "declare it there" : `declare it there, or use ${known.slice(0, MAX_LISTED).join(", ")}`,
  )
}

function reject(field: Field, name: string): void {
  if (!field.present) return
  field.error(
    "not-supported",
    `\`${shown(name)}\` is not supported with action CUSTOM`,
    "remove it: the provider is asked about every caller",
  )
}
