// SPDX-License-Identifier: Apache-2.0
//
// Pods and pod templates: containers, ports, environment, mounts, probes, resources, and what an update may change.

import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFoundValue,
  notSupported,
  required,
} from "../../meta/field-error.js"
import { labelErrors, portErrors, portNameErrors, subdomainErrors } from "../../meta/names.js"
import { validateAnnotations, validateLabels } from "../../meta/object-meta.js"
import { asArray, asObject, asString, clone, equal, isEmpty, isNumber, isObject, type JsonObject } from "../../value.js"
import { parseQuantity } from "../../wire/quantity.js"
import { diffInternal } from "./pod-diff.js"

const HANDLERS = ["exec", "httpGet", "tcpSocket", "grpc"]

export function validatePod(pod: JsonObject): FieldError[] {
  return validatePodSpec(asObject(pod.spec), "spec")
}

export function validatePodTemplate(template: JsonObject, path: string): FieldError[] {
  const meta = asObject(template.metadata)
  return [
    ...validateLabels(meta.labels, `${path}.metadata.labels`),
    ...validateAnnotations(meta.annotations, `${path}.metadata.annotations`),
    ...validatePodSpec(asObject(template.spec), `${path}.spec`),
  ]
}

function validatePodSpec(spec: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const volumes = new Set<string>()
  for (const [i, item] of asArray(spec.volumes).entries()) {
    const name = asString(asObject(item).name)
    if (name === "") errors.push(required(`${path}.volumes[${i}].name`))
    else for (const message of labelErrors(name)) errors.push(invalid(`${path}.volumes[${i}].name`, name, message))
    if (volumes.has(name)) errors.push(duplicate(`${path}.volumes[${i}].name`, name))
    volumes.add(name)
  }
  const containers = asArray(spec.containers).map(asObject)
  if (containers.length === 0) errors.push(required(`${path}.containers`))
  const names = new Set<string>()
  for (const [i, container] of containers.entries())
    errors.push(...validateContainer(container, names, volumes, `${path}.containers[${i}]`))
  for (const [i, item] of asArray(spec.initContainers).entries())
    errors.push(...validateContainer(asObject(item), names, volumes, `${path}.initContainers[${i}]`))
  errors.push(...oneOf(spec.restartPolicy, ["Always", "OnFailure", "Never"], `${path}.restartPolicy`))
  errors.push(
    ...oneOf(spec.dnsPolicy, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], `${path}.dnsPolicy`),
  )
  errors.push(...validateLabels(spec.nodeSelector, `${path}.nodeSelector`))
  const account = asString(spec.serviceAccountName)
  if (account !== "")
    for (const message of subdomainErrors(account)) errors.push(invalid(`${path}.serviceAccountName`, account, message))
  const node = asString(spec.nodeName)
  if (node !== "") for (const message of subdomainErrors(node)) errors.push(invalid(`${path}.nodeName`, node, message))
  if (isNumber(spec.activeDeadlineSeconds) && spec.activeDeadlineSeconds < 1)
    errors.push(
      invalid(
        `${path}.activeDeadlineSeconds`,
        spec.activeDeadlineSeconds,
        "must be between 1 and 2147483647, inclusive",
      ),
    )
  const host = asString(spec.hostname)
  if (host !== "") for (const message of labelErrors(host)) errors.push(invalid(`${path}.hostname`, host, message))
  return errors
}

function oneOf(value: unknown, allowed: readonly string[], path: string): FieldError[] {
  if (value === undefined || value === "") return [required(path)]
  return allowed.includes(value as string) ? [] : [notSupported(path, value as string, allowed)]
}

function validateContainer(
  container: JsonObject,
  names: Set<string>,
  volumes: ReadonlySet<string>,
  path: string,
): FieldError[] {
  const errors: FieldError[] = []
  const name = asString(container.name)
  if (name === "") errors.push(required(`${path}.name`))
  else for (const message of labelErrors(name)) errors.push(invalid(`${path}.name`, name, message))
  if (asString(container.image) === "") errors.push(required(`${path}.image`))
  else if (asString(container.image) !== asString(container.image).trim())
    errors.push(invalid(`${path}.image`, asString(container.image), "must not have leading or trailing whitespace"))
  if (names.has(name)) errors.push(duplicate(`${path}.name`, name))
  names.add(name)
  errors.push(...validatePorts(container, path))
  for (const [i, item] of asArray(container.env).entries())
    errors.push(...validateEnv(asObject(item), `${path}.env[${i}]`))
  const mounts = new Set<string>()
  for (const [i, item] of asArray(container.volumeMounts).entries()) {
    const mount = asObject(item)
    const here = `${path}.volumeMounts[${i}]`
    if (asString(mount.name) === "") errors.push(required(`${here}.name`))
    else if (!volumes.has(asString(mount.name))) errors.push(notFoundValue(`${here}.name`, asString(mount.name)))
    const target = asString(mount.mountPath)
    if (target === "") errors.push(required(`${here}.mountPath`))
    if (mounts.has(target)) errors.push(invalid(`${here}.mountPath`, target, "must be unique"))
    mounts.add(target)
  }
  for (const key of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[key]
    if (isObject(probe)) errors.push(...validateHandlers(probe, `${path}.${key}`))
  }
  errors.push(
    ...oneOf(container.terminationMessagePolicy, ["File", "FallbackToLogsOnError"], `${path}.terminationMessagePolicy`),
  )
  errors.push(...oneOf(container.imagePullPolicy, ["Always", "IfNotPresent", "Never"], `${path}.imagePullPolicy`))
  errors.push(...validateResources(asObject(container.resources), `${path}.resources`))
  return errors
}

function validatePorts(container: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const names = new Set<string>()
  for (const [i, item] of asArray(container.ports).entries()) {
    const port = asObject(item)
    const here = `${path}.ports[${i}]`
    const name = asString(port.name)
    if (name !== "") {
      for (const message of portNameErrors(name)) errors.push(invalid(`${here}.name`, name, message))
      if (names.has(name)) errors.push(duplicate(`${here}.name`, name))
      names.add(name)
    }
    const number = isNumber(port.containerPort) ? port.containerPort : 0
    if (number === 0) errors.push(required(`${here}.containerPort`))
    else for (const message of portErrors(number)) errors.push(invalid(`${here}.containerPort`, number, message))
    errors.push(...oneOf(port.protocol, ["SCTP", "TCP", "UDP"], `${here}.protocol`))
  }
  return errors
}

function validateEnv(env: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const name = asString(env.name)
  if (name === "") errors.push(required(`${path}.name`))
  else if (!/^[ -<>-~]+$/.test(name))
    errors.push(
      invalid(
        `${path}.name`,
        name,
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
      ),
    )
  if (isObject(env.valueFrom)) {
    const sources = Object.keys(env.valueFrom)
    if (sources.length === 0)
      errors.push(
        invalid(
          `${path}.valueFrom`,
          "",
          "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        ),
      )
    else if (asString(env.value) !== "")
      errors.push(invalid(`${path}.valueFrom`, "", "may not be specified when `value` is not empty"))
    else if (sources.length > 1)
      errors.push(invalid(`${path}.valueFrom`, "", "may not have more than one field specified at a time"))
  }
  return errors
}

function validateHandlers(probe: JsonObject, path: string): FieldError[] {
  const present = HANDLERS.filter(key => isObject(probe[key]))
  if (present.length === 0) return [required(path, "must specify a handler type")]
  return present.slice(1).map(key => forbidden(`${path}.${key}`, "may not specify more than 1 handler type"))
}

function validateResources(resources: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const limits = asObject(resources.limits)
  for (const [key, value] of Object.entries(asObject(resources.requests))) {
    const limit = limits[key]
    const requested = parseQuantity(asString(value))
    const most = limit === undefined ? undefined : parseQuantity(asString(limit))
    if (requested !== undefined && most !== undefined && requested.nano > most.nano)
      errors.push(
        invalid(
          `${path}.requests`,
          asString(value),
          `must be less than or equal to ${key} limit of ${asString(limit)}`,
        ),
      )
  }
  return errors
}

export function validatePodUpdate(pod: JsonObject, old: JsonObject): FieldError[] {
  const errors = validatePod(pod)
  const next = clone(asObject(pod.spec))
  const before = asObject(old.spec)
  for (const key of ["containers", "initContainers"]) {
    const olds = asArray(before[key]).map(asObject)
    asArray(next[key]).forEach((item, i) => {
      const image = olds[i]?.image
      if (isObject(item) && image !== undefined) item.image = image
    })
  }
  const restore = (key: string): void => {
    if (before[key] === undefined) delete next[key]
    else next[key] = before[key]
  }
  restore("activeDeadlineSeconds")
  const tolerations = asArray(before.tolerations)
  if (tolerations.every(item => asArray(next.tolerations).some(other => equal(item, other)))) restore("tolerations")
  if (
    next.terminationGracePeriodSeconds === 1 &&
    isNumber(before.terminationGracePeriodSeconds) &&
    before.terminationGracePeriodSeconds < 0
  )
    restore("terminationGracePeriodSeconds")
  if (!equal(next, before))
    errors.push(
      forbidden(
        "spec",
        `pod updates may not change fields other than \`spec.containers[*].image\`,\`spec.initContainers[*].image\`,\`spec.activeDeadlineSeconds\`,\`spec.tolerations\` (only additions to existing tolerations),\`spec.terminationGracePeriodSeconds\` (allow it to be set to 1 if it was previously negative)\n${diffInternal(before, next)}`,
      ),
    )
  return errors
}

export function qosClass(spec: JsonObject): string {
  const containers = [...asArray(spec.containers), ...asArray(spec.initContainers)].map(asObject)
  const parts = containers.map(container => {
    const resources = asObject(container.resources)
    return { requests: asObject(resources.requests), limits: asObject(resources.limits) }
  })
  const keys = ["cpu", "memory"]
  if (parts.every(({ requests, limits }) => keys.every(key => isEmpty(requests[key]) && isEmpty(limits[key]))))
    return "BestEffort"
  const guaranteed = parts.every(({ requests, limits }) =>
    keys.every(key => !isEmpty(limits[key]) && equal(requests[key] ?? limits[key], limits[key])),
  )
  return guaranteed ? "Guaranteed" : "Burstable"
}
