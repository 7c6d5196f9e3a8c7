// SPDX-License-Identifier: Apache-2.0
// How managedFields are tracked for one request: the manager that owns the fields it sets, and which fields can be
// owned.

import type { FieldManagement } from "../patch/apply/field-manager.js"
import { FieldSet } from "../patch/apply/field-set.js"
import { now } from "../wire/go-time.js"
import type { RequestContext } from "./context.js"
import type { Kind } from "./kind.js"

const STATUS = FieldSet.fromJson({ "f:status": {} })

export function fieldManagement(
  kind: Kind,
  context: RequestContext,
  operation: "Apply" | "Update",
  clock: () => number,
): FieldManagement {
  return {
    type: kind.applyType,
    empty: kind.empty,
    owner: {
      manager: context.fieldManager,
      operation,
      apiVersion: kind.info.apiVersion,
      subresource: context.subresource,
    },
    now: now(clock),
    allowed: set => {
      if (context.subresource === "status") return statusFields(kind, set)
      return kind.hasStatus && context.subresource === "" ? set.recursiveDifference(STATUS) : set
    },
  }
}

function statusFields(kind: Kind, set: FieldSet): FieldSet {
  const kept = new FieldSet()
  const keep = kind.behaviour.metaThroughStatus === true ? ["f:status", "f:metadata"] : ["f:status"]
  for (const element of keep) {
    if (set.members.has(element)) kept.members.add(element)
    const child = set.children.get(element)
    if (child !== undefined) kept.children.set(element, child)
  }
  return kept
}
