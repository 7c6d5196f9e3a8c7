// SPDX-License-Identifier: Apache-2.0
// A value computed on first use and cached.

export function once<T extends object>(make: () => T): () => T {
  let value: T | undefined
  return () => {
    value ??= make()
    return value
  }
}
