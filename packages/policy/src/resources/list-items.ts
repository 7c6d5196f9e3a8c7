// SPDX-License-Identifier: Apache-2.0
// Expands lists of documents: a Kubernetes list (`kind: List`, `PodList`) and a plain YAML or JSON list stand for their
// items, also when nested. The parser bounds the depth.

import type { Path } from "./document-error.js"
import { isObject } from "./field.js"

export interface ListItem {
  readonly value: unknown
  /** The path in the original text. */
  readonly at: Path
}

export function listItems(value: unknown, at: Path = []): readonly ListItem[] {
  if (Array.isArray(value)) return itemsIn(value, at)
  if (!isObject(value) || !isList(value) || !Array.isArray(value.items)) return [{ value, at }]
  const { apiVersion, kind } = value
  // The items of a `PodList` do not repeat their kind in the response of an API server.
  const ofKind = kind === "List" ? undefined : { apiVersion, kind: String(kind).slice(0, -"List".length) }
  const items = value.items.map(item => (isObject(item) && ofKind !== undefined ? { ...ofKind, ...item } : item))
  return itemsIn(items, [...at, "items"])
}

function itemsIn(items: readonly unknown[], at: Path): readonly ListItem[] {
  return items.flatMap((item, index) => listItems(item, [...at, index]))
}

/**
 * The list of every kind in Kubernetes has this suffix. A list has no name, unlike an object whose kind happens to end
 * like that.
 */
function isList({ kind, metadata }: Record<string, unknown>): boolean {
  return typeof kind === "string" && kind.endsWith("List") && (!isObject(metadata) || metadata.name === undefined)
}
