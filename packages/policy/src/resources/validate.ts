// SPDX-License-Identifier: Apache-2.0
// Turns an untrusted value into a policy document; there is no other way to get one. It reports all errors at once, each
// with its field and fix, and warnings separately. Bounded work for any input.

import type { MeshNames } from "../mesh/names.js"
import { nearest } from "../shape/nearest.js"
import { checkProvider } from "./authorization-policy/custom.js"
import { BareObject } from "./bare-object.js"
import { checkCharacters } from "./characters.js"
import type { PolicyDocument } from "./document.js"
import { type DocumentError, shown, type Warning } from "./document-error.js"
import { Field, isObject, Report } from "./field.js"
import { apiVersionOf, isServed, KINDS, type KindDefinition } from "./kinds.js"
import { checkDryRun, checkMetadata } from "./metadata.js"
import { snapshot } from "./snapshot.js"
import { checkStructure, listed, placeOf } from "./structure.js"

export interface Validation {
  /** Present only if there are no errors. */
  readonly document?: PolicyDocument
  readonly errors: readonly DocumentError[]
  readonly warnings: readonly Warning[]
}

export interface ValidateOptions {
  /** Namespace for a document without one; `default` if absent. */
  readonly namespace?: string
  /** The providers that the mesh declares, if the mesh is known. A CUSTOM policy that names another one is rejected. */
  readonly providers?: readonly { readonly name: string }[]
}

const TOP_LEVEL = ["apiVersion", "kind", "metadata", "spec", "status"]

export function validate(value: unknown, names: MeshNames, options: ValidateOptions = {}): Validation {
  const report = new Report()
  const copy = snapshot(value, report)
  const document = new Field(copy, [], report)
  if (!isObject(copy)) {
    if (report.errors.length === 0) {
      document.error("wrong-type", "a document must be an object", "write `apiVersion`, `kind`, `metadata` and `spec`")
    }
    return { errors: report.errors, warnings: report.warnings }
  }
  completeNamespace(copy, options.namespace ?? "default")
  checkTopLevel(document)
  const definition = checkKind(document, names)
  checkMetadata(document.field("metadata"))
  checkDryRun(document, names)
  if (definition !== undefined) checkSpec(definition, copy, document, names, report, options.providers)
  const { errors, warnings } = report
  if (errors.length > 0) return { errors, warnings }
  normalize(copy)
  // The copy has just been checked against the schema from which the type is derived.
  return { document: copy as unknown as PolicyDocument, errors, warnings }
}

/** Tools print `creationTimestamp: null` for objects that do not exist yet; it means that the field is absent. */
function completeNamespace(copy: Record<string, unknown>, namespace: string): void {
  const { metadata, status } = copy
  if (status === null) delete copy.status
  if (!isObject(metadata)) return
  for (const name of Object.keys(metadata)) if (metadata[name] === null) delete metadata[name]
  metadata.namespace ??= namespace
}

function checkTopLevel(document: Field): void {
  const definition = definitionOf(document.field("kind"))
  for (const [name, field] of document.entries) {
    if (TOP_LEVEL.includes(name)) continue
    field.error("unknown-field", `unknown field \`${shown(name)}\``, suggestTopLevel(name, definition))
  }
  const status = document.field("status")
  if (status.present && !isObject(status.value)) {
    status.error("wrong-type", "`status` must be an object", "remove it: the control plane writes it")
  }
}

function definitionOf(kind: Field): KindDefinition | undefined {
  return KINDS.find(candidate => candidate.kind === kind.value)
}

function suggestTopLevel(name: string, definition: KindDefinition | undefined): string {
  const inside = definition && placeOf(name, definition.spec)
  if (inside !== undefined) return `\`${name}\` belongs to \`${inside}\``
  const near = nearest(name, TOP_LEVEL)
  return near === undefined ? `known here are ${listed(TOP_LEVEL)}` : `did you mean \`${near}\`?`
}

function checkKind(document: Field, names: MeshNames): KindDefinition | undefined {
  const kind = document.field("kind")
  const apiVersion = document.field("apiVersion")
  const known = KINDS.map(definition => definition.kind)
  if (!kind.present) {
    kind.error("missing-field", "`kind` is missing", `write one of ${listed(known)}`)
    return undefined
  }
  const definition = definitionOf(kind)
  if (definition === undefined) {
    const near = nearest(kind.text ?? "", known)
    kind.error(
      "unknown-kind",
      `unknown kind \`${shown(kind.text ?? typeof kind.value)}\``,
      near === undefined ? `known are ${listed(known)}` : `did you mean \`${near}\`?`,
    )
    return undefined
  }
  const right = apiVersionOf(definition, names)
  if (!apiVersion.present) {
    apiVersion.error("missing-field", "`apiVersion` is missing", `write \`${right}\``)
  } else if (!isServed(apiVersion.value, definition, names)) {
    const written = shown(apiVersion.text ?? typeof apiVersion.value)
    apiVersion.error("unknown-kind", `\`${definition.kind}\` is not served under \`${written}\``, `write \`${right}\``)
  }
  return definition
}

function checkSpec(
  definition: KindDefinition,
  copy: Record<string, unknown>,
  document: Field,
  names: MeshNames,
  report: Report,
  providers: ValidateOptions["providers"],
): void {
  if (copy.spec === undefined || copy.spec === null) {
    const spec = document.field("spec")
    if (!definition.specOptional) {
      spec.error("missing-field", "`spec` is missing", "add `spec` with `hosts`")
      return
    }
    spec.warn("no-spec", "`spec` is missing and read as empty", "write `spec: {}` if that is meant")
    copy.spec = new BareObject()
  }
  const spec = document.field("spec")
  checkStructure(definition.spec, spec.value, ["spec"], report)
  // Bounds the work: people do not read a hundred errors, and an object with too many parts is not checked part by
  // part.
  if (!isObject(spec.value) || report.full || report.hasTooMany) return
  checkCharacters(spec)
  definition.check(spec, document, names)
  if (definition.kind === "AuthorizationPolicy" && providers !== undefined) checkProvider(spec, providers)
}

/** Renames `jwks_uri` to `jwksUri`; the code after this point does not know the alias. */
function normalize(copy: Record<string, unknown>): void {
  if (copy.kind !== "RequestAuthentication" || !isObject(copy.spec) || !Array.isArray(copy.spec.jwtRules)) return
  for (const rule of copy.spec.jwtRules as unknown[]) {
    if (!isObject(rule) || rule.jwks_uri === undefined) continue
    rule.jwksUri = rule.jwks_uri
    delete rule.jwks_uri
  }
}
