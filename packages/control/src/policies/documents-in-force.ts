// SPDX-License-Identifier: Apache-2.0
// The documents of one kind that are in effect, for consumers that need only documents and their changes.

import type { Kind } from "@merlon/policy/resources"
import type { Change } from "../kubernetes/reflector.js"
import { isOfKind } from "./read-policy.js"
import type { OfKind, PolicySource, StoredPolicy } from "./stored-policy.js"

export interface Documents<T> {
  /** By `namespace/name`. */
  readonly items: ReadonlyMap<string, T>
  /** Called after `items` contains the change. Returns a function that stops listening. */
  onChange(listener: (change: Change<T>) => void): () => void
}

export function documentsInForce<K extends Kind>(source: PolicySource, kind: K): Documents<OfKind<K>> {
  const documentOf = (stored: StoredPolicy | undefined): OfKind<K> | undefined =>
    stored?.inForce !== undefined && isOfKind(stored.inForce, kind) ? stored.inForce : undefined
  return {
    get items() {
      const items = new Map<string, OfKind<K>>()
      for (const stored of source.items.values()) {
        const document = documentOf(stored)
        if (document !== undefined) items.set(nameOf(stored), document)
      }
      return items
    },
    onChange: listener =>
      source.onChange(({ before, after }) => {
        const previous = documentOf(before)
        const object = documentOf(after)
        const stored = after ?? before
        if (object === previous || stored === undefined) return
        listener({ key: nameOf(stored), object, previous })
      }),
  }
}

function nameOf({ namespace, name }: StoredPolicy): string {
  return `${namespace}/${name}`
}
