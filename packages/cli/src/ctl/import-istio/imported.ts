// SPDX-License-Identifier: Apache-2.0
// The result of importing one document: the converted document, and remarks on what changed.

import type { MeshNames } from "@merlon/policy/mesh"
import { type Fields, fieldsOf, textOf } from "../foreign.js"

export interface Remark {
  /** `Kind namespace/name`. */
  readonly about: string
  /** `lost`: the document would mean something else without it, so the document is left out. */
  readonly severity: "changed" | "lost"
  readonly message: string
}

export interface Imported {
  readonly documents: readonly Fields[]
  readonly remarks: readonly Remark[]
}

export interface Document {
  readonly object: Fields
  readonly about: string
}

export function translatedMetadata(object: Fields, names: MeshNames): Fields {
  const metadata = fieldsOf(object.metadata)
  const { name, namespace, labels, annotations } = metadata
  const notes = Object.entries(fieldsOf(annotations)).filter(([key]) => !key.startsWith("kubectl.kubernetes.io/"))
  const renamed = notes.map(
    ([key, value]) => [key === "istio.io/dry-run" ? names.dryRunAnnotation : key, value] as const,
  )
  return {
    name,
    ...(namespace === undefined ? {} : { namespace: namespace === "istio-system" ? names.rootNamespace : namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(renamed.length === 0 ? {} : { annotations: Object.fromEntries(renamed) }),
  }
}

/** `Kind namespace/name`. */
export function aboutOf(object: Fields): string {
  const { name, namespace } = fieldsOf(object.metadata)
  const place = textOf(namespace)
  return `${textOf(object.kind) ?? "document"} ${place === undefined ? "" : `${place}/`}${textOf(name) ?? ""}`
}

export function withoutStatus(written: Fields): Fields {
  const { status: _, ...object } = written
  return object
}
