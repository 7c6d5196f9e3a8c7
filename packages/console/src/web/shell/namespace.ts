// SPDX-License-Identifier: Apache-2.0
// The namespace filter of all pages. It is in the address, and links keep it (hash-location.ts).

import { NAMESPACE, useSearchParameters } from "./hash-location.js"

/** Undefined for all namespaces. */
export function useNamespace(): string | undefined {
  const [search] = useSearchParameters()
  return search.get(NAMESPACE) || undefined
}

/** Whether the key (`namespace/name`) is in the namespace; true for every key if no namespace is chosen. */
export function isIn(namespace: string | undefined, key: string): boolean {
  return namespace === undefined || key.startsWith(`${namespace}/`)
}
