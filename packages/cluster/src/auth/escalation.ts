// SPDX-License-Identifier: Apache-2.0
//
// Nobody grants through RBAC objects what they do not hold themselves, unless they may `escalate` the role or `bind`
// to it. Checked whenever a role or binding is written.

import { forbiddenError } from "../meta/status.js"
import type { RequestContext } from "../registry/context.js"
import { groupResource, type Kind } from "../registry/kind.js"
import { asObject, asString, dig, equal, type JsonObject } from "../value.js"
import { printRule, type Rbac, type Rule, rulesOf, uncovered } from "./rbac.js"

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
  let wanted: Rule[]
  if (kind.info.kind === "Role" || kind.info.kind === "ClusterRole") {
    if (old !== null && equal(object.rules ?? null, old.rules ?? null)) return
    if (await may("escalate", kind.info.plural, name)) return
    wanted = rulesOf(object)
  } else {
    const ref = asObject(object.roleRef)
    if (
      old !== null &&
      equal(object.roleRef ?? null, old.roleRef ?? null) &&
      equal(object.subjects ?? null, old.subjects ?? null)
    )
      return
    if (await may("bind", ref.kind === "ClusterRole" ? "clusterroles" : "roles", asString(ref.name))) return
    wanted = rulesOf(await rbac.role(asString(ref.kind), asString(ref.name), namespace))
  }
  const held = (await rbac.bound(context.user, namespace)).flatMap(({ rules }) => rules)
  const missing = uncovered(held, wanted)
  if (missing.length === 0) return
  const groups = context.user.groups.map(group => JSON.stringify(group)).join(" ")
  throw forbiddenError(
    groupResource(kind.info),
    name,
    `user ${JSON.stringify(context.user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${missing.map(printRule).join("\n")}`,
  )
}
