// SPDX-License-Identifier: Apache-2.0
// Events are stored once and served in two forms: core/v1 is stored, events.k8s.io/v1 renames its fields.
// HorizontalPodAutoscaler v1 is a narrower form of v2 in the same way.

import { asArray, asObject, type JsonObject } from "../value.js"

const names: [string, string][] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
]

function rename(object: JsonObject, from: 0 | 1): JsonObject {
  const map = new Map(names.map(pair => [pair[from], pair[from === 0 ? 1 : 0]]))
  const out: JsonObject = {}
  for (const [key, value] of Object.entries(object)) out[map.get(key) ?? key] = value
  return out
}

export const eventToEventsGroup = (event: JsonObject): JsonObject => rename(event, 0)
export const eventFromEventsGroup = (event: JsonObject): JsonObject => rename(event, 1)

export function scalerToV1(scaler: JsonObject): JsonObject {
  const { metrics, behavior: _, ...spec } = asObject(scaler.spec)
  const cpu = asArray(metrics)
    .map(asObject)
    .find(metric => metric.type === "Resource" && asObject(metric.resource).name === "cpu")
  const target = asObject(asObject(cpu?.resource).target).averageUtilization
  const { currentMetrics: _c, conditions: _d, ...status } = asObject(scaler.status)
  return { ...scaler, spec: target === undefined ? spec : { ...spec, targetCPUUtilizationPercentage: target }, status }
}

export function scalerFromV1(scaler: JsonObject): JsonObject {
  const { targetCPUUtilizationPercentage: target, ...spec } = asObject(scaler.spec)
  const metrics =
    target === undefined
      ? []
      : [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: target } } }]
  return { ...scaler, spec: { ...spec, metrics } }
}
