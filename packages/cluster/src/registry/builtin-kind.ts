// SPDX-License-Identifier: Apache-2.0
//
// Built-in kinds in the registry: typed by the generated tables, with defaults and validation by kind.

import { behaviourOf } from "../kinds/behaviours/by-kind.js"
import { decode } from "../kinds/codec.js"
import { applyTypeDefaults } from "../kinds/defaults.js"
import { eventFromEventsGroup, eventToEventsGroup, scalerFromV1, scalerToV1 } from "../kinds/events.js"
import { type BuiltinResource, builtinResources } from "../kinds/resource-table.js"
import { typeNamed } from "../kinds/type-table.js"
import { nameCheckOf, ruleOf } from "../kinds/validation/by-kind.js"
import { once } from "../lazy.js"
import { applyTypeOf } from "../patch/apply/apply-type.js"
import { crdDefaults } from "../schema/crd.js"
import { builtinColumns } from "../table/builtin-columns.js"
import { asObject, asString, clone, dig, equal, type Json, type JsonObject } from "../value.js"
import type { Kind, ScalePaths } from "./kind.js"

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

const SCALE: ScalePaths = { spec: ["spec", "replicas"], status: ["status", "replicas"], selector: ["spec", "selector"] }

export function builtinKinds(): Kind[] {
  return builtinResources.filter(info => !info.virtual).map(builtinKind)
}

function statusField(info: BuiltinResource): boolean {
  return info.subresources.some(sub => sub.name === "status")
}

function builtinKind(info: BuiltinResource): Kind {
  const { kind, type, apiVersion } = info
  const rules = ruleOf(kind)
  const conversion = conversions[`${apiVersion}/${kind}`]
  const hasStatus = statusField(info)
  const behaviour = behaviourOf(info.group, kind)
  const fields = behaviour.selectable ?? []
  const normalize = (value: Json): JsonObject => ({ ...decode(type, value), kind, apiVersion })
  const own = (object: JsonObject): JsonObject => {
    const { kind: _k, apiVersion: _a, ...rest } = object
    return rest
  }
  const built: Kind = {
    info,
    builtin: true,
    behaviour,
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
      behaviour.prepareCreate?.(object)
      Object.assign(object, normalize(object))
    },
    prepareForUpdate(object, old) {
      if (hasStatus) restore(object, old, "status")
      behaviour.prepareUpdate?.(object, old)
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
    columns: once(() => builtinColumns(kind)),
    deprecation: behaviour.deprecation,
    ...(info.subresources.some(sub => sub.name === "scale") ? { scale: SCALE } : {}),
  }
  return built
}

/** Puts kind and apiVersion first, as Go prints them. */
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
