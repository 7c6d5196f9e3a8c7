// SPDX-License-Identifier: Apache-2.0
//
// Built-in kinds as the registry sees them: typed by the generated tables, defaulted and validated by kind.

import { decode } from "../kinds/codec.js"
import { applyTypeDefaults } from "../kinds/defaults.js"
import { eventFromEventsGroup, eventToEventsGroup, scalerFromV1, scalerToV1 } from "../kinds/events.js"
import { type BuiltinResource, builtinResources } from "../kinds/resource-table.js"
import { typeNamed } from "../kinds/type-table.js"
import { nameCheckOf, ruleOf } from "../kinds/validation/by-kind.js"
import { qosClass } from "../kinds/validation/pod.js"
import { applyTypeOf } from "../patch/apply/apply-type.js"
import { crdDefaults, refuseStatusOnCreate, storageVersion } from "../schema/crd.js"
import { builtinColumns } from "../table/builtin-columns.js"
import {
  asArray,
  asObject,
  asString,
  asStrings,
  clone,
  dig,
  equal,
  isObject,
  type Json,
  type JsonObject,
} from "../value.js"
import type { Kind } from "./kind.js"

const selectableFields: Record<string, string[]> = {
  Pod: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  Event: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  Namespace: ["status.phase", "name"],
  Node: ["spec.unschedulable"],
  Secret: ["type"],
  Service: ["spec.clusterIP", "spec.type"],
  ReplicaSet: ["status.replicas"],
  ReplicationController: ["status.replicas"],
  Job: ["status.successful"],
  CertificateSigningRequest: ["spec.signerName"],
}

const conversions: Record<
  string,
  { from(stored: JsonObject): JsonObject; to(object: JsonObject): JsonObject; stored: string; type: string }
> = {
  "events.k8s.io/v1/Event": {
    from: eventToEventsGroup,
    to: eventFromEventsGroup,
    stored: "v1",
    type: "io.k8s.api.core.v1.Event",
  },
  "autoscaling/v1/HorizontalPodAutoscaler": {
    from: scalerToV1,
    to: scalerFromV1,
    stored: "autoscaling/v2",
    type: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
  },
}

export function builtinKinds(): Kind[] {
  return builtinResources.filter(info => !info.virtual).map(builtinKind)
}

function statusField(info: BuiltinResource): boolean {
  return info.subresources.some(sub => sub.name === "status")
}

export function builtinKind(info: BuiltinResource): Kind {
  const { kind, type, apiVersion } = info
  const rules = ruleOf(kind)
  const conversion = conversions[`${apiVersion}/${kind}`]
  const hasStatus = statusField(info)
  const fields = selectableFields[kind] ?? []
  const normalize = (value: Json): JsonObject => ({ ...decode(type, value), kind, apiVersion })
  const own = (object: JsonObject): JsonObject => {
    const { kind: _k, apiVersion: _a, ...rest } = object
    return rest
  }
  const built: Kind = {
    info,
    builtin: true,
    hasStatus,
    meta: { namespaced: info.namespaced, name: nameCheckOf(kind), strictFinalizers: true },
    decode(value) {
      const unknown: string[] = []
      const object = decode(type, value, { unknown, keepEmpty: true })
      applyTypeDefaults(type, object)
      if (kind === "CustomResourceDefinition") crdDefaults(object)
      return {
        object: ordered({ ...decode(type, object, { unknown: [], keepEmpty: true }), kind, apiVersion }),
        unknown,
      }
    },
    fromStored(stored) {
      return conversion === undefined ? stored : ordered(normalize(conversion.from(own(stored))))
    },
    toStored(object) {
      if (conversion === undefined) return ordered(normalize(object))
      return ordered({
        ...decode(typeNamed(conversion.type), conversion.to(own(object))),
        kind,
        apiVersion: conversion.stored,
      })
    },
    prepareForCreate(object) {
      if (info.traits.generation) asObject(object.metadata).generation = 1
      if (hasStatus) object.status = {}
      prepareCreate[kind]?.(object)
      Object.assign(object, normalize(object))
    },
    prepareForUpdate(object, old) {
      if (hasStatus) restore(object, old, "status")
      prepareUpdate[kind]?.(object, old)
      Object.assign(object, normalize(object))
      const body = ({ metadata: _m, status: _s, ...rest }: JsonObject): JsonObject => rest
      if (info.traits.generation && !equal(body(object), body(old))) raiseGeneration(object, old)
    },
    validate: object => rules.validate(object),
    validateUpdate: (object, old) => rules.validateUpdate(object, old),
    selectable: path =>
      path === "metadata.name" || (info.namespaced && path === "metadata.namespace") || fields.includes(path),
    field(object, path) {
      if (!built.selectable(path)) return undefined
      if (path === "name") return asString(dig(object, "metadata", "name"))
      const source = kind === "Event" && apiVersion !== "v1" ? eventFromEventsGroup(object) : object
      const value = dig(source, ...path.split("."))
      if (kind === "Event" && path === "source")
        return asString(dig(source, "source", "component")) || asString(source.reportingComponent)
      return value === undefined || value === null
        ? path === "spec.unschedulable" || path === "spec.hostNetwork"
          ? "false"
          : ""
        : `${value as string}`
    },
    unsupportedField: path => {
      if (fields.length > 0) return `field label not supported: ${path}`
      return `${JSON.stringify(path)} is not a known field selector: only "metadata.name", "metadata.namespace"`
    },
    applyType: applyTypeOf(type),
    empty: ordered(normalize({})),
    columns: builtinColumns(kind),
    deprecation:
      kind === "Endpoints" ? "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" : undefined,
  }
  if (info.subresources.some(sub => sub.name === "scale"))
    built.scale = { spec: ["spec", "replicas"], status: ["status", "replicas"], selector: ["spec", "selector"] }
  return built
}

/** Kind and apiVersion first, as Go prints them. */
function ordered(object: JsonObject): JsonObject {
  const { kind, apiVersion, ...rest } = object
  return { kind: kind ?? "", apiVersion: apiVersion ?? "", ...rest }
}

function restore(object: JsonObject, old: JsonObject, key: string): void {
  const before = old[key]
  if (before === undefined) delete object[key]
  else object[key] = clone(before)
}

export function raiseGeneration(object: JsonObject, old: JsonObject): void {
  const before = dig(old, "metadata", "generation")
  const meta = asObject(object.metadata)
  meta.generation = (typeof before === "number" ? before : 0) + 1
}

/** A Pod that nobody may schedule yet says so from the first moment. */
function gateCondition(spec: JsonObject): JsonObject {
  if (asArray(spec.schedulingGates).length === 0) return {}
  const condition = {
    ...{ type: "PodScheduled", status: "False", reason: "SchedulingGated", lastProbeTime: null },
    ...{ message: "Scheduling is blocked due to non-empty scheduling gates", lastTransitionTime: null },
  }
  return { conditions: [condition] }
}

const prepareCreate: Record<string, (object: JsonObject) => void> = {
  Namespace: object => {
    const spec = asObject(object.spec)
    const finalizers = asStrings(spec.finalizers)
    if (!finalizers.includes("kubernetes")) finalizers.push("kubernetes")
    object.spec = { ...spec, finalizers }
    object.status = { phase: "Active" }
  },
  Pod: object => {
    const spec = asObject(object.spec)
    object.status = { phase: "Pending", qosClass: qosClass(spec), ...gateCondition(spec) }
    const grace = spec.terminationGracePeriodSeconds
    // Negative grace periods are read as one second.
    if (typeof grace === "number" && grace < 0) spec.terminationGracePeriodSeconds = 1
  },
  CustomResourceDefinition: refuseStatusOnCreate,
}

const prepareUpdate: Record<string, (object: JsonObject, old: JsonObject) => void> = {
  Namespace: (object, old) => {
    object.spec = { ...asObject(object.spec), finalizers: asArray(dig(old, "spec", "finalizers")) }
  },
  CertificateSigningRequest: (object, old) => restore(object, old, "spec"),
  CustomResourceDefinition: (object, old) => {
    const storage = storageVersion(object)
    const stored = asStrings(dig(old, "status", "storedVersions"))
    if (storage !== "" && !stored.includes(storage))
      object.status = { ...asObject(object.status), storedVersions: [...stored, storage] }
  },
  Service: (object, old) => {
    const spec = asObject(object.spec)
    const before = asObject(old.spec)
    if (spec.type !== "ExternalName" && before.type !== "ExternalName")
      for (const key of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"])
        if (spec[key] === undefined && before[key] !== undefined) spec[key] = clone(before[key] ?? null)
    if (spec.type === before.type && (spec.type === "NodePort" || spec.type === "LoadBalancer")) {
      const olds = asArray(before.ports).map(asObject)
      for (const port of asArray(spec.ports).map(asObject)) {
        const same = olds.find(other => other.port === port.port && other.protocol === port.protocol)
        if (isObject(port) && port.nodePort === undefined && same?.nodePort !== undefined) port.nodePort = same.nodePort
      }
    }
  },
}
