// SPDX-License-Identifier: Apache-2.0
//
// Status conditions: one per type, with the time of its last change.

import { asObject, type JsonObject } from "../value.js"

export function withCondition(
  status: JsonObject,
  type: string,
  reason: string,
  message: string,
  time: string,
  value = "True",
): JsonObject {
  const conditions = Array.isArray(status.conditions) ? status.conditions.map(asObject) : []
  const before = conditions.find(condition => condition.type === type)
  const next: JsonObject = {
    type,
    status: value,
    lastTransitionTime: before?.status === value ? (before.lastTransitionTime ?? time) : time,
    reason,
    message,
  }
  return {
    ...status,
    conditions:
      before === undefined
        ? [...conditions, next]
        : conditions.map(condition => (condition === before ? next : condition)),
  }
}
