// SPDX-License-Identifier: Apache-2.0
// CustomResourceDefinitions as documents: defaults, validation on create and update, and name conflicts. The registry
// serves them.

import { type FieldError, forbidden, invalid, notSupported, required } from "../meta/field-error.js"
import { dns1035Errors, subdomainErrors } from "../meta/names.js"
import { asArray, asObject, asString, asStrings, dig, equal, isObject, type Json, type JsonObject } from "../value.js"
import { checkSchema } from "./schema-checks.js"

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"]

export function versionsOf(crd: JsonObject): JsonObject[] {
  return asArray(dig(crd, "spec", "versions")).map(asObject)
}

export function storageVersion(crd: JsonObject): string {
  return asString(versionsOf(crd).find(version => version.storage === true)?.name)
}

export function crdDefaults(crd: JsonObject): void {
  const spec = asObject(crd.spec)
  const names = asObject(spec.names)
  const kind = asString(names.kind)
  if (kind !== "") {
    if (!names.singular) names.singular = kind.toLowerCase()
    if (!names.listKind) names.listKind = `${kind}List`
  }
  spec.names = names
  if (!isObject(spec.conversion)) spec.conversion = { strategy: "None" }
  crd.spec = spec
  const storage = storageVersion(crd)
  const status = asObject(crd.status)
  // The storage version always counts as stored, even if a client's status does not list it.
  if (storage !== "" && asArray(status.storedVersions).length === 0)
    crd.status = { ...status, storedVersions: [storage] }
}

export function validateCrd(crd: JsonObject): FieldError[] {
  const spec = asObject(crd.spec)
  const errors: FieldError[] = []
  const group = asString(spec.group)
  const name = asString(dig(crd, "metadata", "name"))
  if (name !== `${asString(dig(spec, "names", "plural"))}.${group}`)
    errors.push(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
  if (group === "") errors.push(required("spec.group"))
  else if (subdomainErrors(group).length > 0)
    errors.push(invalid("spec.group", group, subdomainErrors(group).join(",")))
  else if (!group.includes(".")) errors.push(invalid("spec.group", group, "should be a domain with at least one dot"))
  const scope = asString(spec.scope)
  if (scope === "") errors.push(required("spec.scope"))
  else if (scope !== "Cluster" && scope !== "Namespaced")
    errors.push(notSupported("spec.scope", scope, ["Cluster", "Namespaced"]))
  errors.push(...validateVersions(crd))
  errors.push(...validateNames(asObject(spec.names), "spec.names"))
  errors.push(...validateConversion(crd))
  errors.push(...validateStored(crd))
  if (
    /(^|\.)(k8s\.io|kubernetes\.io)$/.test(group) &&
    !asString(dig(crd, "metadata", "annotations", "api-approved.kubernetes.io"))
  )
    errors.push(
      required(
        "metadata.annotations[api-approved.kubernetes.io]",
        'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ),
    )
  if (spec.preserveUnknownFields === true)
    errors.push(
      invalid(
        "spec.preserveUnknownFields",
        true,
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
      ),
    )
  return errors
}

/** Kubernetes stores settings that all versions share at the top level, and uses those paths in errors. */
function shared(versions: readonly JsonObject[], key: string): boolean {
  const first = versions[0]
  return first !== undefined && versions.every(version => equal(version[key] ?? null, first[key] ?? null))
}

function validateVersions(crd: JsonObject): FieldError[] {
  const versions = versionsOf(crd)
  const errors: FieldError[] = []
  const internalVersion = (version: JsonObject): JsonObject => ({
    Name: asString(version.name),
    Served: version.served === true,
    Storage: version.storage === true,
    Deprecated: version.deprecated === true,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  })
  versions.forEach((version, i) => {
    if (!isObject(dig(version, "schema", "openAPIV3Schema")))
      errors.push(required(`spec.versions[${i}].schema.openAPIV3Schema`))
    const problems = dns1035Errors(asString(version.name))
    if (problems.length > 0)
      errors.push(invalid(`spec.versions[${i}].name`, asString(version.name), problems.join(",")))
  })
  const names = versions.map(version => asString(version.name))
  if (new Set(names).size !== names.length)
    errors.push(invalid("spec.versions", versions.map(internalVersion), "must contain unique version names"))
  if (versions.filter(version => version.storage === true).length !== 1)
    errors.push(
      invalid(
        "spec.versions",
        versions.map(internalVersion),
        "must have exactly one version marked as storage version",
      ),
    )
  const sharedSchema = shared(versions, "schema")
  const sharedColumns = shared(versions, "additionalPrinterColumns")
  const sharedFields = shared(versions, "selectableFields")
  versions.forEach((version, i) => {
    const schema = dig(version, "schema", "openAPIV3Schema")
    if (isObject(schema) && !(sharedSchema && i > 0))
      errors.push(
        ...checkSchema(
          schema,
          sharedSchema ? "spec.validation.openAPIV3Schema" : `spec.versions[${i}].schema.openAPIV3Schema`,
        ),
      )
    if (!(sharedColumns && i > 0)) {
      const path = sharedColumns ? "spec.additionalPrinterColumns" : `spec.versions[${i}].additionalPrinterColumns`
      for (const [c, column] of asArray(version.additionalPrinterColumns).entries())
        errors.push(...validateColumn(asObject(column), `${path}[${c}]`))
    }
    const sharedSub = shared(versions, "subresources")
    if (!(sharedSub && i > 0))
      errors.push(...validateScale(version, sharedSub ? "spec.subresources" : `spec.versions[${i}].subresources`))
    if (!(sharedFields && i > 0)) {
      const path = sharedFields ? "spec.selectableFields" : `spec.versions[${i}].selectableFields`
      for (const [f, field] of asArray(version.selectableFields).entries())
        errors.push(...validateSelectable(asObject(field), schema, `${path}[${f}].jsonPath`))
    }
  })
  return errors
}

function validateScale(version: JsonObject, path: string): FieldError[] {
  const scale = dig(version, "subresources", "scale")
  if (!isObject(scale)) return []
  const errors: FieldError[] = []
  for (const [key, under] of [
    ["specReplicasPath", ".spec."],
    ["statusReplicasPath", ".status."],
  ] as const) {
    const text = asString(scale[key])
    if (text === "") errors.push(required(`${path}.scale.${key}`))
    else if (!text.startsWith("."))
      errors.push(invalid(`${path}.scale.${key}`, text, "must be a simple json path starting with ."))
    else if (!text.startsWith(under))
      errors.push(invalid(`${path}.scale.${key}`, text, `should be a json path under ${under.slice(0, -1)}`))
  }
  return errors
}

/** Conversion webhooks are not supported. A CRD that needs one would be served incorrectly, so it is rejected. */
function validateConversion(crd: JsonObject): FieldError[] {
  const strategy = asString(dig(crd, "spec", "conversion", "strategy"))
  if (strategy === "" || strategy === "None") return []
  if (strategy !== "Webhook") return [notSupported("spec.conversion.strategy", strategy, ["None", "Webhook"])]
  return [forbidden("spec.conversion.strategy", "conversion by webhook is not supported by this server, use None")]
}

function validateColumn(column: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const type = asString(column.type)
  const jsonPath = asString(column.jsonPath)
  if (!column.name) errors.push(required(`${path}.name`))
  if (type === "") errors.push(required(`${path}.type`, `must be one of ${COLUMN_TYPES.join(",")}`))
  else if (!COLUMN_TYPES.includes(type))
    errors.push(invalid(`${path}.type`, type, `must be one of ${COLUMN_TYPES.join(",")}`))
  if (jsonPath === "") errors.push(required(`${path}.JSONPath`))
  else if (!jsonPath.startsWith("."))
    errors.push(invalid(`${path}.JSONPath`, jsonPath, "must be a simple json path starting with ."))
  return errors
}

function validateSelectable(field: JsonObject, schema: Json | undefined, path: string): FieldError[] {
  const jsonPath = asString(field.jsonPath)
  if (jsonPath === "") return [required(path)]
  let node: Json | undefined = schema
  for (const name of jsonPath.split(".").slice(1)) node = dig(node, "properties", name)
  if (!isObject(node)) return [invalid(path, jsonPath, "is an invalid path: does not refer to a valid field")]
  if (!["string", "boolean", "integer"].includes(asString(node.type)))
    return [
      invalid(
        path,
        jsonPath,
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
      ),
    ]
  return []
}

function validateNames(names: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  for (const key of ["plural", "singular", "kind", "listKind"]) {
    const name = asString(names[key])
    if (name === "") {
      errors.push(required(`${path}.${key}`))
      continue
    }
    const mixed = key === "kind" || key === "listKind"
    const problems = dns1035Errors(mixed ? name.toLowerCase() : name)
    if (problems.length > 0)
      errors.push(
        invalid(
          `${path}.${key}`,
          name,
          `${mixed ? "may have mixed case, but should otherwise match: " : ""}${problems.join(",")}`,
        ),
      )
  }
  for (const key of ["shortNames", "categories"])
    for (const [i, name] of asStrings(names[key]).entries()) {
      const problems = dns1035Errors(name)
      if (problems.length > 0) errors.push(invalid(`${path}.${key}[${i}]`, name, problems.join(",")))
    }
  if (names.kind && names.kind === names.listKind)
    errors.push(invalid(`${path}.listKind`, asString(names.listKind), "kind and listKind may not be the same"))
  return errors
}

function validateStored(crd: JsonObject): FieldError[] {
  const stored = asStrings(dig(crd, "status", "storedVersions"))
  const path = "status.storedVersions"
  if (stored.length === 0) return [invalid(path, null, "must have at least one stored version")]
  const errors: FieldError[] = []
  const names = versionsOf(crd).map(version => asString(version.name))
  for (const version of versionsOf(crd))
    if (version.storage === true && !stored.includes(asString(version.name)))
      errors.push(invalid(path, stored, `must have the storage version ${asString(version.name)}`))
  for (const [i, v] of stored.entries())
    if (!names.includes(v))
      errors.push(
        invalid(
          `${path}[${i}]`,
          v,
          `missing from spec.versions; ${v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${v} and removes ${v} from status.storedVersions`,
        ),
      )
  return errors
}

export function isCondition(crd: JsonObject, type: string): boolean {
  return asArray(dig(crd, "status", "conditions")).some(
    item => asObject(item).type === type && asObject(item).status === "True",
  )
}

export function validateCrdUpdate(crd: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  // A changed group or plural gets the error of an immutable field, so the error that the name no longer matches is
  // omitted.
  const immutable: [string, string[]][] = [
    ["spec.group", ["spec", "group"]],
    ["spec.scope", ["spec", "scope"]],
    ["spec.names.plural", ["spec", "names", "plural"]],
    ["spec.names.kind", ["spec", "names", "kind"]],
  ]
  const established = isCondition(old, "Established")
  for (const [field, path] of immutable) {
    if (!established && (field === "spec.scope" || field === "spec.names.kind")) continue
    const value = dig(crd, ...path) ?? null
    if (!equal(value, dig(old, ...path) ?? null)) errors.push(invalid(field, value, "field is immutable"))
  }
  const rest = validateCrd(crd).filter(error => error.field !== "metadata.name")
  return [...rest, ...errors]
}

export function rejectStatusOnCreate(crd: JsonObject): void {
  const storage = versionsOf(crd).find(version => version.storage === true)
  crd.status = { storedVersions: storage === undefined ? [] : [asString(storage.name)] }
}
