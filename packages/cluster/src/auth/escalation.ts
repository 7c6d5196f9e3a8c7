// SPDX-License-Identifier: Apache-2.0
// Users cannot grant through RBAC objects what they do not have themselves, unless they may `escalate` the role or `bind`
// to it. Checked whenever a role or binding is written.

import { forbiddenError, notFound } from "../meta/status.js"
import type { RequestContext } from "../registry/context.js"
import { groupResource, type Kind } from "../registry/kind.js"
import { asObject, asString, dig, equal, isObject, type JsonObject } from "../value.js"
import { printRule, type Rbac, type Rule, rulesOf, uncovered } from "./rbac.js"

const everything: Rule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
]

const GROUP = "rbac.authorization.k8s.io"

export async function checkEscalation(
  rbac: Rbac,
  kind: Kind,
  object: JsonObject,
  old: JsonObject | null,
  context: RequestContext,
): Promise<void> {
  if (kind.info.group !== GROUP || context.user.groups.includes("system:masters")) return
  const name = asString(dig(object, "metadata", "name"))
  const namespace = kind.info.namespaced ? context.namespace : ""
  const may = async (verb: string, resource: string, target: string): Promise<boolean> =>
    (
      await rbac.authorize(context.user, {
        verb,
        group: GROUP,
        version: "v1",
        resource,
        subresource: "",
        namespace,
        name: target,
      })
    ).allowed
  const held = (await rbac.bound(context.user, namespace)).flatMap(({ rules }) => rules)
  let wanted: Rule[]
  if (kind.info.kind === "Role" || kind.info.kind === "ClusterRole") {
    const sameAggregation = equal(object.aggregationRule ?? null, old?.aggregationRule ?? null)
    if (old !== null && sameAggregation && equal(object.rules ?? null, old.rules ?? null)) return
    if (await may("escalate", kind.info.plural, name)) return
    // Rules of roles that get a matching label later are added to this role, so its author must already hold all
    // rights.
    if (isObject(object.aggregationRule) && uncovered(held, everything).length > 0)
      throw forbiddenError(
        groupResource(kind.info),
        name,
        "must have cluster-admin privileges to use the aggregationRule",
      )
    wanted = rulesOf(object)
  } else {
    const ref = asObject(object.roleRef)
    if (
      old !== null &&
      equal(object.roleRef ?? null, old.roleRef ?? null) &&
      equal(object.subjects ?? null, old.subjects ?? null)
    )
      return
    const plural = ref.kind === "ClusterRole" ? "clusterroles" : "roles"
    if (await may("bind", plural, asString(ref.name))) return
    const role = await rbac.role(asString(ref.kind), asString(ref.name), namespace)
    // Fail closed: it is unknown what a role that does not exist yet will grant.
    if (role === undefined) throw notFound({ group: GROUP, resource: plural }, asString(ref.name))
    wanted = rulesOf(role)
  }
  const missing = uncovered(held, wanted)
  if (missing.length === 0) return
  const groups = context.user.groups.map(group => JSON.stringify(group)).join(" ")
  throw forbiddenError(
    groupResource(kind.info),
    name,
    `user ${JSON.stringify(context.user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${missing.map(printRule).join("\n")}`,
  )
}
