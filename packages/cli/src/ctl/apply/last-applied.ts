// SPDX-License-Identifier: Apache-2.0
// kubectl's record of how an object was last applied. We write it too, byte for byte, so that users can alternate
// between both tools: kubectl uses it to find removed fields.

import type { AnyObject } from "../catalog/resource.js"

export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

export function withLastApplied(object: AnyObject): AnyObject {
  const { [LAST_APPLIED]: _, ...annotations } = annotationsOf(object)
  const remembered = { ...object, metadata: { ...object.metadata, annotations } }
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...annotations, [LAST_APPLIED]: `${goJson(remembered)}\n` } },
  }
}

function annotationsOf({ metadata: { annotations } }: AnyObject): { readonly [name: string]: unknown } {
  return typeof annotations === "object" && annotations !== null ? { ...annotations } : {}
}

/** JSON with sorted keys, escaped like Go's encoder does. */
function goJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
  }).replace(/[<>&\u2028\u2029]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
}
