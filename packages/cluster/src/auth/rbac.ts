// SPDX-License-Identifier: Apache-2.0
//
// Role-based access control: a request is allowed when ANY rule of ANY role bound to its user allows it; nothing is
// ever denied explicitly. The decision names the binding that allowed it.

import { type ApiError, forbiddenError } from "../meta/status.js"
import type { Catalog } from "../registry/catalog.js"
import type { User } from "../registry/context.js"
import { keyOf, prefixOf } from "../registry/kind.js"
import type { Store } from "../store/store.js"
import { asArray, asObject, asString, asStrings, dig, type JsonObject } from "../value.js"

export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

export type Attributes = { path: string; verb: string } | ResourceAttributes

export interface Decision {
  readonly allowed: boolean
  readonly reason: string
}

export interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

interface Bound {
  readonly rules: Rule[]
  readonly reason: string
}

const GROUP = "rbac.authorization.k8s.io"

/** The error for a request that no rule allows. */
export function notAllowed(user: User, attributes: Attributes, name: string): ApiError {
  const who = `User ${JSON.stringify(user.name)}`
  const { verb } = attributes
  if (!isResource(attributes))
    return forbiddenError(
      { group: "", resource: "" },
      "",
      `${who} cannot ${verb} path ${JSON.stringify(attributes.path)}`,
    )
  const { group, resource, subresource, namespace } = attributes
  const title = subresource === "" ? resource : `${resource}/${subresource}`
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`
  return forbiddenError(
    { group, resource },
    name,
    `${who} cannot ${verb} resource ${JSON.stringify(title)} in API group ${JSON.stringify(group)} ${scope}`,
  )
}

function isResource(attributes: Attributes): attributes is ResourceAttributes {
  return "resource" in attributes
}

export function rulesOf(role: JsonObject | undefined): Rule[] {
  return asArray(role?.rules).map(item => {
    const rule = asObject(item)
    return {
      verbs: asStrings(rule.verbs),
      apiGroups: asStrings(rule.apiGroups),
      resources: asStrings(rule.resources),
      resourceNames: asStrings(rule.resourceNames),
      nonResourceURLs: asStrings(rule.nonResourceURLs),
    }
  })
}

export class Rbac {
  constructor(
    readonly store: Pick<Store, "get" | "range">,
    readonly catalog: Catalog,
  ) {}

  async authorize(user: User, attributes: Attributes): Promise<Decision> {
    if (user.groups.includes("system:masters")) return { allowed: true, reason: "" }
    const namespace = isResource(attributes) ? attributes.namespace : ""
    for (const { rules, reason } of await this.bound(user, namespace))
      if (rules.some(rule => allows(rule, attributes))) return { allowed: true, reason: `RBAC: allowed by ${reason}` }
    return { allowed: false, reason: "" }
  }

  /** Every role bound to the user, cluster-wide and in the namespace. */
  async bound(user: User, namespace: string): Promise<Bound[]> {
    const out: Bound[] = []
    const collect = async (plural: string, within: string): Promise<void> => {
      const kind = this.catalog.builtin(GROUP, "v1", plural)
      for (const entry of (await this.store.range({ prefix: prefixOf(kind.info, within) })).entries) {
        const binding = entry.object
        const subject = asArray(binding.subjects)
          .map(asObject)
          .find(item => isSubject(item, user, within))
        if (subject === undefined) continue
        const ref = asObject(binding.roleRef)
        const rules = rulesOf(await this.role(asString(ref.kind), asString(ref.name), within))
        const name = asString(dig(binding, "metadata", "name"))
        const title =
          within === ""
            ? `ClusterRoleBinding ${JSON.stringify(name)}`
            : `RoleBinding ${JSON.stringify(`${name}/${within}`)}`
        out.push({
          rules,
          reason: `${title} of ${asString(ref.kind)} ${JSON.stringify(asString(ref.name))} to ${describe(subject, within)}`,
        })
      }
    }
    await collect("clusterrolebindings", "")
    if (namespace !== "") await collect("rolebindings", namespace)
    return out
  }

  async role(kind: string, name: string, namespace: string): Promise<JsonObject | undefined> {
    const cluster = kind === "ClusterRole"
    const resource = this.catalog.builtin(GROUP, "v1", cluster ? "clusterroles" : "roles")
    return (await this.store.get(keyOf(resource.info, cluster ? "" : namespace, name)))?.object
  }
}

function isSubject(subject: JsonObject, user: User, namespace: string): boolean {
  switch (subject.kind) {
    case "User":
      return subject.name === user.name
    case "Group":
      return user.groups.includes(asString(subject.name))
    case "ServiceAccount":
      return user.name === `system:serviceaccount:${asString(subject.namespace) || namespace}:${asString(subject.name)}`
    default:
      return false
  }
}

function describe(subject: JsonObject, namespace: string): string {
  const name = asString(subject.name)
  return subject.kind === "ServiceAccount"
    ? `ServiceAccount ${JSON.stringify(`${name}/${asString(subject.namespace) || namespace}`)}`
    : `${asString(subject.kind)} ${JSON.stringify(name)}`
}

const includes = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value)

export function allows(rule: Rule, attributes: Attributes): boolean {
  // ALL of verb, path or resource, and name must match.
  if (!includes(rule.verbs, attributes.verb)) return false
  if (!isResource(attributes))
    return rule.nonResourceURLs.some(
      url =>
        url === "*" || url === attributes.path || (url.endsWith("*") && attributes.path.startsWith(url.slice(0, -1))),
    )
  const { group, resource, subresource, name } = attributes
  const wanted = subresource === "" ? resource : `${resource}/${subresource}`
  const resources =
    rule.resources.includes("*") ||
    rule.resources.includes(wanted) ||
    (subresource !== "" && rule.resources.includes(`*/${subresource}`))
  return (
    includes(rule.apiGroups, group) &&
    resources &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  )
}

/** Returns the parts of the wanted rules that no held rule covers. */
export function uncovered(held: readonly Rule[], wanted: readonly Rule[]): Rule[] {
  const missing: Rule[] = []
  for (const rule of wanted)
    for (const single of singles(rule)) if (!held.some(own => covers(own, single))) missing.push(single)
  return missing
}

function singles(rule: Rule): Rule[] {
  const out: Rule[] = []
  const base = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] }
  for (const verb of rule.verbs) {
    for (const group of rule.apiGroups)
      for (const resource of rule.resources) {
        if (rule.resourceNames.length === 0)
          out.push({ ...base, verbs: [verb], apiGroups: [group], resources: [resource] })
        for (const name of rule.resourceNames)
          out.push({ ...base, verbs: [verb], apiGroups: [group], resources: [resource], resourceNames: [name] })
      }
    for (const url of rule.nonResourceURLs) out.push({ ...base, verbs: [verb], nonResourceURLs: [url] })
  }
  return out
}

function covers(own: Rule, single: Rule): boolean {
  const every = (held: readonly string[], wanted: readonly string[]): boolean =>
    held.includes("*") || wanted.every(item => held.includes(item))
  if (!every(own.verbs, single.verbs)) return false
  if (single.nonResourceURLs.length > 0)
    return single.nonResourceURLs.every(url =>
      own.nonResourceURLs.some(
        held => held === "*" || held === url || (held.endsWith("*") && url.startsWith(held.slice(0, -1))),
      ),
    )
  const resources = single.resources.every(
    resource =>
      own.resources.includes("*") ||
      own.resources.includes(resource) ||
      (resource.includes("/") && own.resources.includes(`*/${resource.split("/")[1]}`)),
  )
  const names =
    own.resourceNames.length === 0 ||
    (single.resourceNames.length > 0 && single.resourceNames.every(name => own.resourceNames.includes(name)))
  return every(own.apiGroups, single.apiGroups) && resources && names
}

export function printRule(rule: Rule): string {
  const list = (items: readonly string[]): string => `[${items.map(item => JSON.stringify(item)).join(" ")}]`
  const parts: string[] = []
  if (rule.nonResourceURLs.length > 0) parts.push(`NonResourceURLs:${list(rule.nonResourceURLs)}`)
  if (rule.apiGroups.length > 0) parts.push(`APIGroups:${list(rule.apiGroups)}`)
  if (rule.resources.length > 0) parts.push(`Resources:${list(rule.resources)}`)
  if (rule.resourceNames.length > 0) parts.push(`ResourceNames:${list(rule.resourceNames)}`)
  parts.push(`Verbs:${list(rule.verbs)}`)
  return `{${parts.join(", ")}}`
}
