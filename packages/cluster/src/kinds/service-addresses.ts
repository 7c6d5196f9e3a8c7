// SPDX-License-Identifier: Apache-2.0
// Allocates cluster IPs and node ports: the requested one if it is free, otherwise a random one. The addresses in use
// are read from the stored Services, so none can leak.

import { isIPv4 } from "node:net"
import { type FieldError, invalid } from "../meta/field-error.js"
import type { Entry } from "../store/store.js"
import { asArray, asObject, asString, asStrings, isEmpty, type Json, type JsonObject } from "../value.js"

const NODE_PORTS = { first: 30000, last: 32767 }
/**
 * 10.0.0.0/16. Random addresses are taken from the upper half, because users mostly choose addresses in the lower half.
 */
const RANGE = { base: ipNumber("10.0.0.0"), size: 65536, randomFrom: 32768 }

function ipNumber(ip: string): number {
  return ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
}

function ipText(value: number): string {
  return [24, 16, 8, 0].map(shift => Math.floor(value / 2 ** shift) % 256).join(".")
}

export function normalizeAddresses(spec: JsonObject): void {
  const ip = asString(spec.clusterIP)
  const all = asStrings(spec.clusterIPs)
  if (ip !== "" && all.length === 0) spec.clusterIPs = [ip]
  else if (ip === "" && all[0] !== undefined) spec.clusterIP = all[0]
}

export function allocateAddresses(
  service: JsonObject,
  key: string,
  services: readonly Entry[],
  random: () => number,
): FieldError[] {
  const spec = asObject(service.spec)
  const type = asString(spec.type)
  if (type === "ExternalName") {
    for (const name of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"])
      delete spec[name]
    return []
  }
  const others = services.filter(entry => entry.key !== key).map(entry => asObject(entry.object.spec))
  if (spec.clusterIP === "None") {
    const dual = isEmpty(spec.selector)
    if (isEmpty(spec.ipFamilies)) spec.ipFamilies = dual ? ["IPv4", "IPv6"] : ["IPv4"]
    if (isEmpty(spec.ipFamilyPolicy)) spec.ipFamilyPolicy = dual ? "RequireDualStack" : "SingleStack"
  } else {
    const taken = new Set(others.flatMap(other => asStrings(other.clusterIPs)))
    const requested = asString(spec.clusterIP)
    if (requested !== "") {
      const offset = isIPv4(requested) ? ipNumber(requested) - RANGE.base : -1
      const reject = (why: string): FieldError[] => [
        invalid("spec.clusterIPs", [requested], `failed to allocate IP ${requested}: ${why}`),
      ]
      if (offset < 1 || offset >= RANGE.size - 1) return reject("the provided network does not match the current range")
      if (taken.has(requested)) return reject("provided IP is already allocated")
    } else {
      const first = RANGE.base + RANGE.randomFrom
      const ip = pick(first, RANGE.size - RANGE.randomFrom - 1, value => taken.has(ipText(value)), random)
      if (ip === undefined) return [internal("spec.clusterIPs", "failed to allocate a serviceIP: range is full")]
      spec.clusterIP = ipText(ip)
    }
    spec.clusterIPs = [asString(spec.clusterIP)]
    if (isEmpty(spec.ipFamilies)) spec.ipFamilies = ["IPv4"]
    if (isEmpty(spec.ipFamilyPolicy)) spec.ipFamilyPolicy = "SingleStack"
  }
  return type === "NodePort" || (type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
    ? allocatePorts(spec, others, random)
    : []
}

/** Returns a free number of the range, searching from a random start; undefined when there is none. */
function pick(
  first: number,
  count: number,
  isTaken: (value: number) => boolean,
  random: () => number,
): number | undefined {
  const start = Math.floor(random() * count)
  for (let i = 0; i < count; i++) {
    const value = first + ((start + i) % count)
    if (!isTaken(value)) return value
  }
  return undefined
}

/** The cluster IP and node ports of a Service. */
export function addressesOf(service: JsonObject | undefined): Json {
  const spec = asObject(service?.spec)
  return [spec.clusterIP ?? null, asArray(spec.ports).map(port => asObject(port).nodePort ?? null)]
}

function internal(field: string, detail: string): FieldError {
  return { type: "Internal", field, detail }
}

function allocatePorts(spec: JsonObject, others: readonly JsonObject[], random: () => number): FieldError[] {
  const taken = new Set(others.flatMap(other => asArray(other.ports).map(port => asObject(port).nodePort)))
  const errors: FieldError[] = []
  for (const [i, item] of asArray(spec.ports).entries()) {
    const port = asObject(item)
    const requested = port.nodePort
    if (typeof requested === "number" && requested > 0) {
      if (requested < NODE_PORTS.first || requested > NODE_PORTS.last)
        errors.push(
          invalid(
            `spec.ports[${i}].nodePort`,
            requested,
            `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`,
          ),
        )
      else if (taken.has(requested))
        errors.push(invalid(`spec.ports[${i}].nodePort`, requested, "provided port is already allocated"))
    } else {
      const count = NODE_PORTS.last - NODE_PORTS.first + 1
      const number = pick(NODE_PORTS.first, count, value => taken.has(value), random)
      if (number === undefined) {
        errors.push(internal(`spec.ports[${i}].nodePort`, "failed to allocate a nodePort: range is full"))
        continue
      }
      port.nodePort = number
    }
    taken.add(port.nodePort)
  }
  return errors
}
