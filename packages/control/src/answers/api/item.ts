// SPDX-License-Identifier: Apache-2.0
// An object in an answer.

/** Without the fields that all objects of its kind share. */
export interface Item {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp?: string }
  readonly spec: object
}

/** Splits `namespace/name`. */
export function nameIn(key: string): { readonly namespace: string; readonly name: string } {
  const at = key.indexOf("/")
  return { namespace: key.slice(0, at), name: key.slice(at + 1) }
}

export const isIn = (key: string, namespace: string | undefined): boolean =>
  namespace === undefined || key.startsWith(`${namespace}/`)
