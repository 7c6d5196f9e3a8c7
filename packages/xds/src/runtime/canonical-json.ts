// SPDX-License-Identifier: Apache-2.0
// Canonical JSON and its short hash: equal values have equal versions in every replica, regardless of the order of
// their fields.

import { createHash } from "node:crypto"

const LENGTH = 16

export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  fields.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`
}

export function contentVersion(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, LENGTH)
}
