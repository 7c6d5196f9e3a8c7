// SPDX-License-Identifier: Apache-2.0
// Metadata rules for every kind: names, labels, annotations, owners, finalizers, and the fields that an update must not
// change. Paths and messages are those of Kubernetes.

import { asArray, asObject, asString, asStrings, dig, equal, type Json, type JsonObject } from "../value.js"
import { type FieldError, forbidden, goQuote, invalid, required, tooLong } from "./field-error.js"
import { labelErrors, labelValueErrors, qualifiedNameErrors } from "./names.js"

const MAX_ANNOTATIONS = 256 * 1024
const STANDARD_FINALIZERS = new Set(["kubernetes", "orphan", "foregroundDeletion"])

export type NameCheck = (name: string) => string[]

export interface MetaRules {
  readonly namespaced: boolean
  readonly name: NameCheck
  /** Built-in kinds reject finalizers without a domain; custom resources only get a warning. */
  readonly strictFinalizers: boolean
}

export function metaOf(object: JsonObject): JsonObject {
  return asObject(object.metadata)
}

export function validateMeta(meta: JsonObject, rules: MetaRules, path = "metadata"): FieldError[] {
  const errors: FieldError[] = []
  const generateName = asString(meta.generateName)
  const name = asString(meta.name)
  const namespace = asString(meta.namespace)
  if (generateName !== "")
    // A prefix may end with a dash; all other rules apply.
    for (const message of rules.name(generateName.replace(/-$/, "a")))
      errors.push(invalid(`${path}.generateName`, generateName, message))
  if (name === "") errors.push(required(`${path}.name`, "name or generateName is required"))
  else for (const message of rules.name(name)) errors.push(invalid(`${path}.name`, name, message))
  if (rules.namespaced) {
    if (namespace === "") errors.push(required(`${path}.namespace`))
    else for (const message of labelErrors(namespace)) errors.push(invalid(`${path}.namespace`, namespace, message))
  } else if (namespace !== "") errors.push(forbidden(`${path}.namespace`, "not allowed on this type"))
  const generation = meta.generation
  if (typeof generation === "number" && generation < 0)
    errors.push(invalid(`${path}.generation`, generation, "must be greater than or equal to 0"))
  errors.push(
    ...validateLabels(meta.labels, `${path}.labels`),
    ...validateAnnotations(meta.annotations, `${path}.annotations`),
  )
  errors.push(...validateOwners(meta.ownerReferences, `${path}.ownerReferences`))
  errors.push(...validateFinalizers(meta.finalizers, rules.strictFinalizers, `${path}.finalizers`))
  return errors
}

export function validateLabels(labels: Json | undefined, path: string): FieldError[] {
  return Object.entries(asObject(labels)).flatMap(([key, value]) => [
    ...qualifiedNameErrors(key).map(message => invalid(path, key, message)),
    ...labelValueErrors(asString(value)).map(message => invalid(path, asString(value), message)),
  ])
}

export function validateAnnotations(annotations: Json | undefined, path: string): FieldError[] {
  const errors: FieldError[] = []
  let size = 0
  for (const [key, value] of Object.entries(asObject(annotations))) {
    errors.push(...qualifiedNameErrors(key.toLowerCase()).map(message => invalid(path, key, message)))
    size += Buffer.byteLength(key) + Buffer.byteLength(asString(value))
  }
  if (size > MAX_ANNOTATIONS) errors.push(tooLong(path, MAX_ANNOTATIONS))
  return errors
}

function validateOwners(owners: Json | undefined, path: string): FieldError[] {
  const errors: FieldError[] = []
  let controller: string | undefined
  for (const [i, item] of asArray(owners).entries()) {
    const ref = asObject(item)
    const here = `${path}[${i}]`
    const apiVersion = asString(ref.apiVersion)
    if (!/^[^/]*\/?[^/]+$/.test(apiVersion))
      errors.push(invalid(`${here}.apiVersion`, apiVersion, "version must not be empty"))
    for (const key of ["kind", "name", "uid"])
      if (asString(ref[key]) === "") errors.push(required(`${here}.${key}`, "must not be empty"))
    if (apiVersion === "v1" && ref.kind === "Event")
      errors.push(invalid(here, ref, "/v1, Kind=Event is disallowed from being an owner"))
    if (ref.controller === true) {
      const title = `${asString(ref.kind)}/${asString(ref.name)}`
      if (controller !== undefined)
        errors.push(
          invalid(
            path,
            asArray(owners),
            `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${title}`,
          ),
        )
      controller ??= title
    }
  }
  return errors
}

function validateFinalizers(finalizers: Json | undefined, strict: boolean, path: string): FieldError[] {
  const names = asStrings(finalizers)
  const errors = names.flatMap(name => qualifiedNameErrors(name).map(message => invalid(path, name, message)))
  if (names.includes("orphan") && names.includes("foregroundDeletion"))
    errors.push(invalid(path, names, "finalizer orphan and foregroundDeletion cannot be both set"))
  if (strict)
    names.forEach((name, i) => {
      if (!name.includes("/") && !STANDARD_FINALIZERS.has(name))
        errors.push(
          invalid(`${path}[${i}]`, name, "name is neither a standard finalizer name nor is it fully qualified"),
        )
    })
  return errors
}

/** Warnings for custom resources about finalizer names that may clash. */
export function finalizerWarnings(meta: JsonObject, old?: JsonObject): string[] {
  const before = new Set(asStrings(old?.finalizers))
  const added = asStrings(meta.finalizers).filter(name => !before.has(name))
  return [...new Set(added)].sort().flatMap(name => {
    const title = `metadata.finalizers: ${goQuote(name)}`
    const warnings = qualifiedNameErrors(name).map(message => `${title}: ${message}`)
    if (!name.includes("/") && !STANDARD_FINALIZERS.has(name))
      warnings.push(
        name.includes(".")
          ? `${title}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`
          : `${title}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
      )
    return warnings
  })
}

export function validateMetaUpdate(
  meta: JsonObject,
  old: JsonObject,
  strictFinalizers: boolean,
  path = "metadata",
): FieldError[] {
  const errors: FieldError[] = []
  if (old.deletionTimestamp !== undefined) {
    const before = new Set(asStrings(old.finalizers))
    const added = asStrings(meta.finalizers).filter(name => !before.has(name))
    if (added.length > 0)
      errors.push(
        forbidden(
          `${path}.finalizers`,
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map(goQuote).join(", ")}}`,
        ),
      )
  }
  if (typeof meta.generation === "number" && typeof old.generation === "number" && meta.generation < old.generation)
    errors.push(invalid(`${path}.generation`, meta.generation, "must not be decremented"))
  for (const key of [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ])
    if (!equal(meta[key] ?? null, old[key] ?? null))
      errors.push(invalid(`${path}.${key}`, meta[key] ?? null, "field is immutable"))
  errors.push(
    ...validateLabels(meta.labels, `${path}.labels`),
    ...validateAnnotations(meta.annotations, `${path}.annotations`),
  )
  errors.push(...validateOwners(meta.ownerReferences, `${path}.ownerReferences`))
  errors.push(...validateFinalizers(meta.finalizers, strictFinalizers, `${path}.finalizers`))
  return errors
}

export function isDeleting(object: JsonObject): boolean {
  return dig(object, "metadata", "deletionTimestamp") !== undefined
}
