// SPDX-License-Identifier: Apache-2.0
// Cells computed from several fields: the status of a Pod, the ports of a Service, the endpoints of a slice.

import {
  asArray,
  asObject,
  asString,
  asStrings,
  dig,
  isNumber,
  isObject,
  type JsonObject,
  scalarText,
} from "../value.js"

function statuses(pod: JsonObject): JsonObject[] {
  return asArray(dig(pod, "status", "containerStatuses")).map(asObject)
}

export function podReady(pod: JsonObject): string {
  const total = asArray(dig(pod, "spec", "containers")).length
  return `${statuses(pod).filter(status => status.ready === true).length}/${total}`
}

export function podStatus(pod: JsonObject): string {
  if (dig(pod, "metadata", "deletionTimestamp") !== undefined) return "Terminating"
  let reason = asString(dig(pod, "status", "reason")) || asString(dig(pod, "status", "phase"))
  const isGated = (condition: JsonObject): boolean =>
    condition.type === "PodScheduled" && condition.reason === "SchedulingGated"
  if (
    asArray(dig(pod, "status", "conditions"))
      .map(asObject)
      .some(isGated)
  )
    reason = "SchedulingGated"
  for (const status of statuses(pod)) {
    const waiting = asString(dig(status, "state", "waiting", "reason"))
    const terminated = dig(status, "state", "terminated")
    if (waiting !== "") reason = waiting
    else if (isObject(terminated)) reason = asString(terminated.reason) || `ExitCode:${scalarText(terminated.exitCode)}`
  }
  return reason
}

export function podRestarts(pod: JsonObject): string {
  return `${statuses(pod).reduce((sum, status) => sum + (isNumber(status.restartCount) ? Number(status.restartCount) : 0), 0)}`
}

export function externalIps(service: JsonObject): string {
  const spec = asObject(service.spec)
  if (spec.type === "ExternalName") return asString(spec.externalName)
  const balanced = asArray(dig(service, "status", "loadBalancer", "ingress")).map(
    item => asString(asObject(item).ip) || asString(asObject(item).hostname),
  )
  const all = [...balanced, ...asStrings(spec.externalIPs)]
  if (all.length > 0) return all.join(",")
  return spec.type === "LoadBalancer" ? "<pending>" : "<none>"
}

export function servicePorts(service: JsonObject): string {
  const ports = asArray(dig(service, "spec", "ports")).map(item => {
    const port = asObject(item)
    return `${scalarText(port.port)}${port.nodePort ? `:${scalarText(port.nodePort)}` : ""}/${asString(port.protocol)}`
  })
  return ports.length === 0 ? "<none>" : ports.join(",")
}

export function nodeStatus(node: JsonObject): string {
  const ready = asArray(dig(node, "status", "conditions"))
    .map(asObject)
    .find(condition => condition.type === "Ready")
  const parts = [ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"]
  if (dig(node, "spec", "unschedulable") === true) parts.push("SchedulingDisabled")
  return parts.join(",")
}

export function nodeRoles(node: JsonObject): string {
  const roles = Object.keys(asObject(dig(node, "metadata", "labels")))
    .filter(key => key.startsWith("node-role.kubernetes.io/"))
    .map(key => key.slice("node-role.kubernetes.io/".length))
  return roles.length === 0 ? "<none>" : roles.sort().join(",")
}

export function nodeAddress(type: string): (node: JsonObject) => string {
  return node => {
    const found = asArray(dig(node, "status", "addresses"))
      .map(asObject)
      .find(address => address.type === type)
    return asString(found?.address) || "<none>"
  }
}

function shorten(items: string[], most: number): string {
  if (items.length === 0) return "<none>"
  return items.length > most ? `${items.slice(0, most).join(",")} + ${items.length - most} more...` : items.join(",")
}

export function endpointsCell(endpoints: JsonObject): string {
  const pairs = asArray(endpoints.subsets).flatMap(item => {
    const subset = asObject(item)
    const ports = asArray(subset.ports).map(port => scalarText(asObject(port).port))
    return asArray(subset.addresses).flatMap(address =>
      ports.length === 0
        ? [asString(asObject(address).ip)]
        : ports.map(port => `${asString(asObject(address).ip)}:${port}`),
    )
  })
  return shorten(pairs, 3)
}

export function endpointSlicePorts(slice: JsonObject): string {
  const ports = asArray(slice.ports).map(item =>
    isNumber(asObject(item).port) ? scalarText(asObject(item).port) : "*",
  )
  return ports.length === 0 ? "<unset>" : shorten(ports, 3)
}

export function endpointSliceEndpoints(slice: JsonObject): string {
  const addresses = asArray(slice.endpoints).flatMap(item => asStrings(asObject(item).addresses))
  return addresses.length === 0 ? "<unset>" : shorten(addresses, 3)
}
