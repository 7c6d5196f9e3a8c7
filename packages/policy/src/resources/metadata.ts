// SPDX-License-Identifier: Apache-2.0
// Checks the metadata of every Kubernetes object: name, namespace, labels, annotations. Fields that we do not read are
// kept unchanged.

import type { MeshNames } from "../mesh/names.js"
import { nearest } from "../shape/nearest.js"
import { shown } from "./document-error.js"
import { parseDryRun } from "./dry-run.js"
import { type Field, isObject } from "./field.js"

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** The fields of the Kubernetes `ObjectMeta`. */
const KNOWN = [
  "name",
  "namespace",
  "labels",
  "annotations",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "finalizers",
  "generateName",
  "managedFields",
  "ownerReferences",
  "selfLink",
]

export function checkMetadata(metadata: Field): void {
  if (!isObject(metadata.value)) {
    if (!metadata.present) metadata.error("missing-field", "`metadata` is missing", "add `metadata` with a `name`")
    else metadata.error("wrong-type", "`metadata` must be an object", "write `metadata: {name: ...}`")
    return
  }
  checkName(metadata.field("name"), "name", "a DNS name of lower-case letters, digits, `-` and `.`", isSubdomain)
  const namespace = metadata.field("namespace")
  if (namespace.present) checkName(namespace, "namespace", "a DNS label of lower-case letters, digits and `-`", isLabel)
  checkTexts(metadata.field("labels"))
  checkTexts(metadata.field("annotations"))
  for (const name of ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"]) {
    const field = metadata.field(name)
    if (field.present && field.text === undefined)
      field.error("wrong-type", `\`${name}\` must be text`, "put it in quotes")
  }
  const generation = metadata.field("generation")
  if (generation.present && !Number.isSafeInteger(generation.value)) {
    generation.error("wrong-type", "`generation` must be a whole number", "leave it to the API server")
  }
  for (const [name, field] of metadata.entries) {
    if (KNOWN.includes(name)) continue
    const near = nearest(name, KNOWN)
    field.warn(
      "unknown-metadata",
      `unknown metadata field \`${shown(name)}\``,
      near === undefined ? "remove it" : `did you mean \`${near}\`?`,
    )
  }
}

function checkName(field: Field, word: string, form: string, valid: (text: string) => boolean): void {
  if (!field.present || field.value === "") {
    field.error("missing-field", `\`${word}\` is missing`, `write ${form}`)
  } else if (field.text === undefined) {
    field.error(
      "wrong-type",
      `\`${word}\` must be text`,
      `put it in quotes: \`"${shown(JSON.stringify(field.value) ?? "")}"\``,
    )
  } else if (!valid(field.text)) {
    field.error("bad-value", `\`${shown(field.text)}\` is not a valid ${word}`, `write ${form}`)
  }
}

function isSubdomain(text: string): boolean {
  return text.length <= 253 && DNS_SUBDOMAIN.test(text)
}

function isLabel(text: string): boolean {
  return DNS_LABEL.test(text)
}

function checkTexts(record: Field): void {
  if (record.present && !isObject(record.value)) {
    record.error("wrong-type", "must be an object of texts", "write one `key: value` per line")
  }
  for (const [, field] of record.entries) {
    if (field.text !== undefined) continue
    const written = typeof field.value === "object" ? "" : `: \`"${shown(JSON.stringify(field.value) ?? "")}"\``
    field.error("wrong-type", "the value must be text", `put it in quotes${written}`)
  }
}

/** The dry-run annotation is valid only for an AuthorizationPolicy that allows or denies. */
export function checkDryRun(document: Field, names: MeshNames): void {
  const metadata = document.field("metadata")
  const annotation = names.dryRunAnnotation
  const field = metadata.field("annotations").field(annotation)
  if (field.text === undefined) return
  const name = `${metadata.field("namespace").text ?? "default"}/${metadata.field("name").text ?? ""}`
  if (document.field("kind").value !== "AuthorizationPolicy") {
    field.error(
      "not-supported",
      `${shown(name)} has unsupported annotation ${annotation}, please remove the annotation`,
      "use `spec.enforcement: Shadow` where the kind has it",
    )
    return
  }
  if (parseDryRun(field.text) === undefined) {
    field.error(
      "bad-value",
      `${shown(name)} has annotation ${annotation} with invalid value (${shown(field.text)})`,
      'write `"true"` or `"false"`',
    )
  }
  const action = document.field("spec").field("action").text ?? "ALLOW"
  if (action !== "ALLOW" && action !== "DENY") {
    field.error(
      "not-supported",
      `the annotation ${annotation} currently only supports action ALLOW/DENY, found action ${shown(action)} in ${shown(name)}`,
      "remove the annotation",
    )
  }
}
