// SPDX-License-Identifier: Apache-2.0
// Requests and limits of injected containers: the mesh's values, overridden by those of a Pod's annotation, both in the
// format of `resources` in Kubernetes. If there is a quota on limits, the API server rejects containers without limits,
// so the defaults have them.

import { messageOf } from "@merlon/xds/runtime"
import { objectOf } from "../registry/foreign.js"

type Quantities = { readonly [resource: string]: string }

export interface ProxyResources {
  readonly requests: Quantities
  readonly limits: Quantities
}

export const DEFAULT_RESOURCES: ProxyResources = {
  requests: { cpu: "10m", memory: "64Mi" },
  limits: { cpu: "2", memory: "512Mi" },
}

const EXAMPLE = '`{"limits": {"memory": "1Gi"}}`'
const RESOURCES = ["cpu", "memory", "ephemeral-storage"]
const QUANTITY = /^\d{1,15}(\.\d{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/

/**
 * Applies the text to `under`, where `null` removes a value; returns a string with the error if the text is invalid.
 */
export function proxyResources(text: string, under: ProxyResources = DEFAULT_RESOURCES): ProxyResources | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `must be JSON, such as ${EXAMPLE}: ${messageOf(error)}`
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return `must be a mapping, such as ${EXAMPLE}`
  const unknown = Object.keys(value).find(key => key !== "requests" && key !== "limits")
  if (unknown !== undefined) return `may have \`requests\` and \`limits\`, not \`${unknown.slice(0, 100)}\``
  const { requests, limits } = objectOf(value)
  const [laidRequests, laidLimits] = [laidOver(under.requests, requests), laidOver(under.limits, limits)]
  if (typeof laidRequests === "string") return laidRequests
  if (typeof laidLimits === "string") return laidLimits
  return { requests: laidRequests, limits: laidLimits }
}

function laidOver(under: Quantities, over: unknown): Quantities | string {
  const result: { [resource: string]: string } = { ...under }
  for (const [resource, quantity] of Object.entries(objectOf(over))) {
    if (!RESOURCES.includes(resource)) return `names \`${resource.slice(0, 100)}\`; use ${RESOURCES.join(", ")}`
    const text = typeof quantity === "number" ? String(quantity) : quantity
    if (text === null) delete result[resource]
    else if (typeof text === "string" && QUANTITY.test(text)) result[resource] = text
    else return `needs a quantity for \`${resource}\`, such as 500m or 256Mi`
  }
  return result
}
