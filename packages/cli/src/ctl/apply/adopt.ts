// SPDX-License-Identifier: Apache-2.0
// Takes over fields that kubectl applied client-side before the server merges. Otherwise a field that was removed from
// the file would stay, because the server would think that kubectl still owns it.

import type { AnyObject } from "../catalog/resource.js"

export const FIELD_MANAGER = "merlonctl"
const KUBECTL_APPLY = "kubectl-client-side-apply"

type Entry = { readonly [field: string]: unknown }
type FieldSet = { readonly [step: string]: unknown }

/** The new `metadata.managedFields`. Undefined if there is nothing to take over. */
export function adoptedFields({ metadata: { managedFields } }: AnyObject): readonly Entry[] | undefined {
  if (!Array.isArray(managedFields)) return undefined
  const entries: readonly Entry[] = managedFields.map(entry => ({ ...entry }))
  const theirs = entries.filter(entry => isOf(entry, KUBECTL_APPLY, "Update"))
  const [last] = theirs.slice(-1)
  if (last === undefined) return undefined
  const ours = entries.find(entry => isOf(entry, FIELD_MANAGER, "Apply"))
  const fields = [...theirs, ...(ours === undefined ? [] : [ours])].map(({ fieldsV1 }) => fieldSet(fieldsV1))
  return [
    ...entries.filter(entry => entry !== ours && !theirs.includes(entry)),
    { ...last, manager: FIELD_MANAGER, operation: "Apply", fieldsV1: fields.reduce(union, {}) },
  ]
}

function isOf({ manager, operation, subresource = "" }: Entry, name: string, how: string): boolean {
  return manager === name && operation === how && subresource === ""
}

function union(a: FieldSet, b: FieldSet): FieldSet {
  const joined: Record<string, unknown> = { ...a }
  for (const [step, below] of Object.entries(b)) joined[step] = union(fieldSet(a[step]), fieldSet(below))
  return joined
}

function fieldSet(value: unknown): FieldSet {
  return typeof value === "object" && value !== null ? { ...value } : {}
}
