// SPDX-License-Identifier: Apache-2.0
// Applies the edits that an explanation proposes to a policy. Edits add values to lists, such as
// `spec.rules[0].from[0].source.principals`, or remove values from them.

import type { Explanation } from "../../api/answers.js"
import type { Policy } from "../../api/objects.js"

export type Edit = NonNullable<Explanation["change"]>[number]

interface Holder {
  [step: string | number]: unknown
}

/** The only kind of policy that explanations propose to change. */
export const CHANGED_KIND = "AuthorizationPolicy"

/** The policy without the fields that the cluster adds. */
export function asWritten({ apiVersion, metadata, spec = {} }: Policy): Policy {
  const { name, namespace, labels, annotations } = metadata
  return {
    ...(apiVersion && { apiVersion }),
    kind: CHANGED_KIND,
    metadata: { name, ...(namespace && { namespace }), ...(labels && { labels }), ...(annotations && { annotations }) },
    spec,
  }
}

export function withEdits(policy: Policy, edits: readonly Edit[]): Policy {
  const copy = structuredClone(policy)
  for (const edit of edits) applyEdit(copy, edit)
  return copy
}

function applyEdit(policy: Policy, { at, change, value }: Edit): void {
  const steps = [...at.matchAll(/([A-Za-z]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))
  const last = steps.pop()
  // Field names come from the control plane. A policy has no field `__proto__`, and it would reach an object's prototype.
  if (last === undefined || steps.includes("__proto__") || last === "__proto__") return
  let place = policy as unknown as Holder // a copy of parsed JSON
  for (const [index, step] of steps.entries()) {
    place[step] ??= typeof (steps[index + 1] ?? last) === "number" ? [] : {}
    place = place[step] as Holder
  }
  const list = Array.isArray(place[last]) ? place[last] : []
  const next: readonly unknown[] = change === "add" ? [...list, value] : list.filter(item => item !== value)
  if (next.length === 0) delete place[last]
  else place[last] = next
}
