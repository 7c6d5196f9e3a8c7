// SPDX-License-Identifier: Apache-2.0
// An object of an answer.

/** Without what all of its kind share. */
export interface Item {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp?: string }
  readonly spec: object
}

/** `namespace/name`, taken apart. */
export function nameIn(key: string): { readonly namespace: string; readonly name: string } {
  const at = key.indexOf("/")
  return { namespace: key.slice(0, at), name: key.slice(at + 1) }
}

export const isIn = (key: string, namespace: string | undefined): boolean =>
  namespace === undefined || key.startsWith(`${namespace}/`)
