// SPDX-License-Identifier: Apache-2.0
// A kind of object that an API serves, with its names.

export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
}

/** An object as every server returns it. Its readers check the spec. */
export interface AnyObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

/** A kind of the core group. Every API server has the same names for it. */
export function coreResource(plural: string, kind: string, namespaced = true): Resource {
  const singular = kind.toLowerCase()
  return { group: "", version: "v1", plural, singular, kind, namespaced, shortNames: [], categories: [] }
}

export function apiVersionOf({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`
}

/** The name in kubectl's output: `deployment.apps`, `pod`. */
export function kindName({ kind, group }: Resource): string {
  return group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
}

/** The name in the server's error messages: `deployments.apps`. */
export function pluralName({ plural, group }: Resource): string {
  return group === "" ? plural : `${plural}.${group}`
}

/** Whether a user's word means this kind: `pa`, `peerauthentications`, `PeerAuthentication.security.merlon.dev`. */
export function isCalled(resource: Resource, word: string): boolean {
  const wanted = word.toLowerCase()
  const dot = wanted.indexOf(".")
  const name = dot === -1 ? wanted : wanted.slice(0, dot)
  const rest = dot === -1 ? undefined : wanted.slice(dot + 1)
  if (rest !== undefined && rest !== resource.group && rest !== `${resource.version}.${resource.group}`) return false
  const { plural, singular, kind, shortNames } = resource
  return name === plural || name === singular || name === kind.toLowerCase() || shortNames.includes(name)
}
