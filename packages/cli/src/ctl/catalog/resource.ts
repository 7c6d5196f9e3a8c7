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

/** An object as every server answers it; specs are the readers' business. */
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

/** A kind of the core group, by the names that every API server has for it. */
export function coreResource(plural: string, kind: string, namespaced = true): Resource {
  const singular = kind.toLowerCase()
  return { group: "", version: "v1", plural, singular, kind, namespaced, shortNames: [], categories: [] }
}

export function apiVersionOf({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`
}

/** As kubectl prints it: `deployment.apps`, `pod`. */
export function kindName({ kind, group }: Resource): string {
  return group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
}

/** As the server words it in its rejections: `deployments.apps`. */
export function pluralName({ plural, group }: Resource): string {
  return group === "" ? plural : `${plural}.${group}`
}

/** Whether a person's word means it: `pa`, `peerauthentications`, `PeerAuthentication.security.merlon.dev`. */
export function isCalled(resource: Resource, word: string): boolean {
  const wanted = word.toLowerCase()
  const dot = wanted.indexOf(".")
  const name = dot === -1 ? wanted : wanted.slice(0, dot)
  const rest = dot === -1 ? undefined : wanted.slice(dot + 1)
  if (rest !== undefined && rest !== resource.group && rest !== `${resource.version}.${resource.group}`) return false
  const { plural, singular, kind, shortNames } = resource
  return name === plural || name === singular || name === kind.toLowerCase() || shortNames.includes(name)
}
