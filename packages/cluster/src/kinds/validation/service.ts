// SPDX-License-Identifier: Apache-2.0
//
// Services, EndpointSlices and Endpoints. Addresses are allocated by the registry; here only their form is checked.

import { isIP } from "node:net"
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from "../../meta/field-error.js"
import { labelErrors, portErrors, portNameErrors, subdomainErrors } from "../../meta/names.js"
import { validateLabels } from "../../meta/object-meta.js"
import {
  asArray,
  asObject,
  asString,
  asStrings,
  equal,
  isEmpty,
  isNumber,
  type JsonObject,
  scalarText,
} from "../../value.js"

const BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
const PROTOCOLS = ["SCTP", "TCP", "UDP"]

export function validateService(service: JsonObject): FieldError[] {
  const spec = asObject(service.spec)
  const errors: FieldError[] = []
  const ports = asArray(spec.ports).map(asObject)
  const type = asString(spec.type)
  const headless = spec.clusterIP === "None"
  if (ports.length === 0 && !headless && type !== "ExternalName") errors.push(required("spec.ports"))
  if (type === "ExternalName") {
    const name = asString(spec.externalName).replace(/\.$/, "")
    if (name === "") errors.push(required("spec.externalName"))
    else for (const message of subdomainErrors(name)) errors.push(invalid("spec.externalName", name, message))
    if (!isEmpty(spec.clusterIP) && !headless)
      errors.push(forbidden("spec.clusterIPs", "may not be set for ExternalName services"))
  }
  const names = new Set<string>()
  for (const [i, port] of ports.entries())
    errors.push(...validatePort(port, ports.length > 1, names, `spec.ports[${i}]`))
  errors.push(...validateLabels(spec.selector, "spec.selector"))
  if (!["None", "ClientIP"].includes(asString(spec.sessionAffinity)))
    errors.push(notSupported("spec.sessionAffinity", asString(spec.sessionAffinity), ["ClientIP", "None"]))
  for (const [i, ip] of asStrings(spec.clusterIPs).entries())
    if (ip !== "None" && isIP(ip) === 0) errors.push(invalid(`spec.clusterIPs[${i}]`, ip, BAD_IP))
  for (const [i, ip] of asStrings(spec.externalIPs).entries())
    if (isIP(ip) === 0) errors.push(invalid(`spec.externalIPs[${i}]`, ip, BAD_IP))
  const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
  if (type === "") errors.push(required("spec.type"))
  else if (!types.includes(type)) errors.push(notSupported("spec.type", type, types))
  const seen = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const key = `${asString(port.protocol)}/${scalarText(port.port)}`
    if (seen.has(key))
      errors.push(
        duplicate(`spec.ports[${i}]`, {
          Name: "",
          Protocol: asString(port.protocol),
          AppProtocol: null,
          Port: port.port ?? 0,
          TargetPort: 0,
          NodePort: 0,
        }),
      )
    seen.add(key)
  }
  return errors
}

function validatePort(port: JsonObject, named: boolean, names: Set<string>, path: string): FieldError[] {
  const errors: FieldError[] = []
  const name = asString(port.name)
  if (named && name === "") errors.push(required(`${path}.name`))
  else if (name !== "") {
    for (const message of labelErrors(name)) errors.push(invalid(`${path}.name`, name, message))
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name))
    names.add(name)
  }
  const number = isNumber(port.port) ? port.port : 0
  for (const message of portErrors(number)) errors.push(invalid(`${path}.port`, number, message))
  if (!PROTOCOLS.includes(asString(port.protocol)))
    errors.push(notSupported(`${path}.protocol`, asString(port.protocol), PROTOCOLS))
  const target = port.targetPort ?? 0
  const problems = typeof target === "string" ? portNameErrors(target) : isNumber(target) ? portErrors(target) : []
  for (const message of problems) errors.push(invalid(`${path}.targetPort`, target, message))
  return errors
}

export function validateServiceUpdate(service: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  const next = asObject(service.spec)
  const before = asObject(old.spec)
  if (
    before.type !== "ExternalName" &&
    next.type !== "ExternalName" &&
    !isEmpty(before.clusterIP) &&
    !equal(next.clusterIP ?? null, before.clusterIP ?? null)
  )
    errors.push(
      invalid(
        "spec.clusterIPs[0]",
        asStrings(next.clusterIPs)[0] === undefined ? null : asStrings(next.clusterIPs),
        "may not change once set",
      ),
    )
  return [...errors, ...validateService(service)]
}

export function validateEndpointSlice(slice: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  const type = asString(slice.addressType)
  const types = ["FQDN", "IPv4", "IPv6"]
  if (type === "") errors.push(required("addressType"))
  else if (!types.includes(type)) errors.push(notSupported("addressType", type, types))
  for (const [i, item] of asArray(slice.endpoints).entries()) {
    const addresses = asStrings(asObject(item).addresses)
    const path = `endpoints[${i}].addresses`
    if (addresses.length === 0) errors.push(required(path))
    for (const [a, address] of addresses.entries()) {
      if (type === "IPv4" && isIP(address) !== 4)
        errors.push(invalid(`${path}[${a}]`, address, isIP(address) === 0 ? BAD_IP : "must be an IPv4 address"))
      else if (type === "IPv6" && isIP(address) !== 6)
        errors.push(invalid(`${path}[${a}]`, address, isIP(address) === 0 ? BAD_IP : "must be an IPv6 address"))
      else if (type === "FQDN")
        for (const message of subdomainErrors(address)) errors.push(invalid(`${path}[${a}]`, address, message))
    }
  }
  const names = new Set<string>()
  for (const [i, item] of asArray(slice.ports).entries()) {
    const port = asObject(item)
    const name = asString(port.name)
    if (names.has(name)) errors.push(duplicate(`ports[${i}].name`, name))
    names.add(name)
    if (!PROTOCOLS.includes(asString(port.protocol)))
      errors.push(notSupported(`ports[${i}].protocol`, asString(port.protocol), PROTOCOLS))
    if (isNumber(port.port))
      for (const message of portErrors(port.port)) errors.push(invalid(`ports[${i}].port`, port.port, message))
  }
  return errors
}

export function validateEndpointSliceUpdate(slice: JsonObject, old: JsonObject): FieldError[] {
  if (slice.addressType !== old.addressType) return [invalid("addressType", null, "field is immutable")]
  return validateEndpointSlice(slice)
}
