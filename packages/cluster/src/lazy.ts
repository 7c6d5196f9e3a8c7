// SPDX-License-Identifier: Apache-2.0
//
// A value that is made when it is first asked for, and kept.

export function once<T extends object>(make: () => T): () => T {
  let value: T | undefined
  return () => {
    value ??= make()
    return value
  }
}
