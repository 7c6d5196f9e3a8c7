// SPDX-License-Identifier: Apache-2.0
// A copy of all objects of one kind, kept up to date: list, watch, and list again if the watch cannot continue.

import type { KubernetesObject } from "./resource-type.js"

export interface Change<T> {
  /** `namespace/name`. */
  readonly key: string
  /** Undefined where the object is gone. */
  readonly object: T | undefined
  readonly previous: T | undefined
}

export interface Reflected<T extends KubernetesObject> {
  readonly items: ReadonlyMap<string, T>
  /** Resolves when the first list is in. */
  readonly synced: Promise<void>
  /** Called after `items` holds the change; the listener must not throw. Returns how to stop listening. */
  onChange(listener: (change: Change<T>) => void): () => void
}
