// SPDX-License-Identifier: Apache-2.0
// The names under which a caller or a workload can be found.

/** With and without its namespace. */
export function namesOf(...keys: readonly string[]): readonly string[] {
  return keys.flatMap(key => [key, key.slice(key.indexOf("/") + 1)])
}

export function callerNames(uri: string | undefined): readonly (string | undefined)[] {
  const principal = uri?.replace(/^spiffe:\/\//, "")
  const [, namespace, account] = /\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(uri ?? "") ?? []
  return [
    uri,
    principal,
    principal?.replace(/^[^/]+\//, ""),
    namespace === undefined ? undefined : `${namespace}/${account}`,
  ]
}
