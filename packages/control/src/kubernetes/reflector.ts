// SPDX-License-Identifier: Apache-2.0
// A copy of all objects of one kind, kept up to date: list, watch, and list again if the watch cannot continue.

import type { KubernetesObject } from "./resource-type.js"

export interface Change<T> {
  /** `namespace/name`. */
  readonly key: string
  /** Undefined if the object was deleted. */
  readonly object: T | undefined
  readonly previous: T | undefined
}

export interface Reflected<T extends KubernetesObject> {
  readonly items: ReadonlyMap<string, T>
  /** Resolves once the first list is complete. */
  readonly synced: Promise<void>
  /** Called after `items` contains the change; the listener must not throw. Returns a function that stops listening. */
  onChange(listener: (change: Change<T>) => void): () => void
}
