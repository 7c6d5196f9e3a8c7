// SPDX-License-Identifier: Apache-2.0
//
// Custom resources in the registry: one Kind per served version of a CRD, shaped by its structural schema.

import { plain } from "../kinds/behaviours/by-kind.js"
import { DecodeError, decode } from "../kinds/codec.js"
import { type ResourceInfo, type Subresource, storageVersionHash } from "../kinds/resource-table.js"
import { objectMetaType } from "../kinds/type-table.js"
import { once } from "../lazy.js"
import { type FieldError, invalid } from "../meta/field-error.js"
import { subdomainErrors } from "../meta/names.js"
import { finalizerWarnings, metaOf } from "../meta/object-meta.js"
import { customApplyType } from "../schema/apply-view.js"
import { evaluateRules } from "../schema/cel/rules.js"
import { storageVersion, versionsOf } from "../schema/crd.js"
import { applyDefaults, prune } from "../schema/shape.js"
import { compileSchema, type Schema } from "../schema/structural.js"
import { noOld, validateListTypes, validateSchema } from "../schema/validate.js"
import { customColumns } from "../table/custom-columns.js"
import { asArray, asObject, asString, asStrings, dig, equal, isObject, type JsonObject, scalarText } from "../value.js"
import { raiseGeneration } from "./builtin-kind.js"
import type { Kind, ScalePaths, ValidationContext } from "./kind.js"

const VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

export interface CustomKind extends Kind {
  readonly crd: JsonObject
  readonly schema: Schema | undefined
}

/** One kind per served version, with the accepted names of the CRD. */
export function customKinds(crd: JsonObject): CustomKind[] {
  return versionsOf(crd)
    .filter(version => version.served === true)
    .map(version => customKind(crd, version))
}

function infoOf(crd: JsonObject, version: JsonObject): ResourceInfo {
  const spec = asObject(crd.spec)
  const names = asObject(spec.names)
  const group = asString(spec.group)
  const name = asString(version.name)
  const kind = asString(names.kind)
  const plural = asString(names.plural)
  const own = asObject(version.subresources)
  const subresources: Subresource[] = []
  const verbs = ["get", "patch", "update"]
  if (isObject(own.status)) subresources.push({ name: "status", kind, verbs, type: "" })
  if (isObject(own.scale))
    subresources.push({
      name: "scale",
      kind: "Scale",
      verbs,
      type: "",
      responseGroup: "autoscaling",
      responseVersion: "v1",
    })
  return {
    group,
    version: name,
    apiVersion: `${group}/${name}`,
    plural,
    singular: asString(names.singular),
    kind,
    listKind: asString(names.listKind),
    namespaced: spec.scope === "Namespaced",
    verbs: VERBS,
    shortNames: asStrings(names.shortNames),
    categories: asStrings(names.categories),
    subresources,
    storageHash: storageVersionHash(group, storageVersion(crd), kind),
    prefix: `/registry/${group}/${plural}/`,
    traits: { unconditionalUpdate: false, createOnUpdate: false, generation: true, returnDeleted: false },
  }
}

function path(text: string): string[] {
  return text.split(".").slice(1)
}

function customKind(crd: JsonObject, version: JsonObject): CustomKind {
  const info = infoOf(crd, version)
  const raw = dig(version, "schema", "openAPIV3Schema")
  const schema = isObject(raw) ? compileSchema(raw) : undefined
  const hasStatus = isObject(dig(version, "subresources", "status"))
  const selectable = new Set(
    asArray(version.selectableFields).map(field => asString(asObject(field).jsonPath).replace(/^\./, "")),
  )
  const scale = dig(version, "subresources", "scale")
  const validateBody = (object: JsonObject, old: JsonObject | undefined, context: ValidationContext): FieldError[] => {
    if (schema === undefined) return []
    const before = old ?? noOld
    const errors = validateSchema(schema, object, "", before)
    if (old === undefined || validateListTypes(schema, old, "").length === 0)
      errors.push(...validateListTypes(schema, object, ""))
    if (schema.hasRules) {
      // Rules rely on the types of the schema, so they are evaluated only if the types are valid.
      const blocked = errors.some(
        ({ type }) =>
          type === "NotSupported" ||
          type === "Required" ||
          type === "TooLong" ||
          type === "TooMany" ||
          type === "TypeInvalid",
      )
      const nameless = asString(dig(object, "metadata", "name")) === ""
      if (blocked || nameless)
        errors.push(
          invalid(
            "<nil>",
            null,
            "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
          ),
        )
      else errors.push(...evaluateRules(schema, object, before, "", context))
    }
    return errors
  }
  const built: CustomKind = {
    info,
    crd,
    schema,
    builtin: false,
    behaviour: plain,
    hasStatus,
    meta: { namespaced: info.namespaced, name: subdomainErrors, strictFinalizers: false },
    decode(value) {
      if (!isObject(value))
        throw new DecodeError("json: cannot unmarshal into Go value of type map[string]interface {}")
      const unknown: string[] = []
      const metaUnknown: string[] = []
      const object = { ...value }
      if (object.metadata !== undefined && object.metadata !== null)
        object.metadata = decode(objectMetaType(), object.metadata, { unknown: metaUnknown })
      else object.metadata = {}
      const shaped =
        schema === undefined ? object : (applyDefaults(schema, prune(schema, object, unknown)) as JsonObject)
      return { object: shaped, unknown: [...metaUnknown.map(name => `metadata.${name}`), ...unknown.sort()] }
    },
    fromStored(stored) {
      const object = { ...stored, apiVersion: info.apiVersion }
      return schema === undefined ? object : (applyDefaults(schema, prune(schema, object, [])) as JsonObject)
    },
    toStored(object) {
      return { ...object, apiVersion: `${info.group}/${storageVersion(crd)}` }
    },
    prepareForCreate(object) {
      if (hasStatus) delete object.status
      asObject(object.metadata).generation = 1
    },
    prepareForUpdate(object, old) {
      if (hasStatus) {
        if (old.status !== undefined) object.status = old.status
        else delete object.status
      }
      const body = (whole: JsonObject): JsonObject => {
        const { metadata: _, ...rest } = whole
        return rest
      }
      if (!equal(body(object), body(old))) raiseGeneration(object, old)
    },
    validate(object, context) {
      const errors = [...kindErrors(info, object), ...validateBody(object, undefined, context)]
      if (errors.length === 0) for (const warning of finalizerWarnings(metaOf(object))) context.warn(warning)
      return errors
    },
    validateUpdate(object, old, context) {
      const errors = [...kindErrors(info, object), ...validateBody(object, old, context)]
      if (errors.length === 0)
        for (const warning of finalizerWarnings(metaOf(object), metaOf(old))) context.warn(warning)
      return errors
    },
    selectable: field =>
      field === "metadata.name" || (info.namespaced && field === "metadata.namespace") || selectable.has(field),
    field(object, field) {
      if (!built.selectable(field)) return undefined
      const value = dig(object, ...field.split("."))
      return scalarText(value)
    },
    unsupportedField: field => `field label not supported: ${field}`,
    applyType: customApplyType(schema),
    empty: { apiVersion: info.apiVersion, kind: info.kind },
    columns: once(() => customColumns(version)),
    deprecation: deprecationOf(crd, version, info),
    ...(isObject(scale) ? { scale: scalePaths(scale) } : {}),
  }
  return built
}

function scalePaths(scale: JsonObject): ScalePaths {
  const selector = asString(scale.labelSelectorPath)
  return {
    spec: path(asString(scale.specReplicasPath)),
    status: path(asString(scale.statusReplicasPath)),
    selector: selector === "" ? undefined : path(selector),
  }
}

function kindErrors(info: ResourceInfo, object: JsonObject): FieldError[] {
  return object.kind === info.kind ? [] : [invalid("kind", asString(object.kind), `must be ${info.kind}`)]
}

function deprecationOf(crd: JsonObject, version: JsonObject, info: ResourceInfo): string | undefined {
  if (version.deprecated !== true) return undefined
  const custom = asString(version.deprecationWarning)
  if (custom !== "") return custom
  const better = versionsOf(crd)
    .filter(other => other.served === true && other.deprecated !== true)
    .map(other => asString(other.name))
    .filter(name => compareVersions(name, info.version) < 0)
    .sort(compareVersions)[0]
  const text = `${info.apiVersion} ${info.kind} is deprecated`
  return better === undefined ? text : `${text}; use ${info.group}/${better} ${info.kind}`
}

/** The order of Kubernetes: stable before beta before alpha, newer first. */
export function compareVersions(a: string, b: string): number {
  const parse = (version: string): [number, number, number] | undefined => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
    if (match === null) return undefined
    const stage = match[2] === "alpha" ? 2 : match[2] === "beta" ? 1 : 0
    return [stage, -Number(match[1]), -Number(match[3] ?? 0)]
  }
  const left = parse(a)
  const right = parse(b)
  if (left === undefined || right === undefined) return left === right ? (a < b ? -1 : 1) : left === undefined ? 1 : -1
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2]
}
