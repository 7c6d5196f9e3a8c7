// SPDX-License-Identifier: Apache-2.0
// Valid documents of one kind, as they come and go. A reflector that lets only what validates through is one.

import type { Change } from "../kubernetes/reflector.js"

export interface Documents<T> {
  /** By `namespace/name`. */
  readonly items: ReadonlyMap<string, T>
  /** Called after `items` holds the change. Returns how to stop listening. */
  onChange(listener: (change: Change<T>) => void): () => void
}
