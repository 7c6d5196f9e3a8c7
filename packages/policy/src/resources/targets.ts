// SPDX-License-Identifier: Apache-2.0
// Checks a policy's target: labels or `targetRefs`, never both. Of the kinds that other meshes allow, those are
// supported that select something that can enforce policies: a Service its workloads, a Gateway or a route its
// authorizers.

import { GATEWAY_GROUP, GATEWAY_TARGET_KINDS } from "../mesh/names.js"
import { MAX_GATEWAY_TARGET_NAME, ONLY_SERVICES, TARGET_KINDS } from "./common.js"
import { shown } from "./document-error.js"
import type { Field } from "./field.js"
import { checkSelector } from "./labels.js"

/** Targets of other meshes, and their equivalents here. */
const ELSEWHERE: { readonly [kind: string]: string } = {
  GatewayClass: "put the policy into the root namespace to make it mesh-wide",
  ServiceEntry: "name a Service: workloads outside the mesh have no proxy that could enforce a policy",
  Deployment: "select its Pods by `selector.matchLabels`",
  Pod: "select it by `selector.matchLabels`",
  Namespace: "leave out `targetRefs`: the policy then applies to its whole namespace",
}
const AT_A_GATEWAY = "select the authorizers of the gateway by `selector.matchLabels`"

type Targets = "services" | "services and gateways"

export function checkScope(spec: Field, allowed: Targets = "services and gateways"): void {
  const [selector, targets] = [spec.field("selector"), spec.field("targetRefs")]
  checkSelector(selector)
  if (!targets.present) return
  if (selector.present) {
    const problem = "only one of targetRefs or selector can be set"
    targets.error("conflict", problem, "keep `selector` for labels or `targetRefs` for Services, and remove the other")
  }
  for (const target of targets.items) checkTarget(target, allowed)
}

function checkTarget(target: Field, allowed: Targets): void {
  const [group, kind] = [target.field("group"), target.field("kind")]
  // A missing value or one that is not a text has been reported already.
  if (kind.text === undefined || kind.text === "") return
  const isCore = group.text === undefined || group.text === "" || group.text === "core"
  if (kind.text === "Service" && isCore) return
  const isOfGateway = GATEWAY_TARGET_KINDS.some(known => known === kind.text)
  if (isOfGateway && group.text === GATEWAY_GROUP && allowed === "services and gateways") {
    checkName(target.field("name"))
    return
  }
  const found = shown(isCore ? kind.text : `${group.text ?? ""}/${kind.text}`)
  const wanted = allowed === "services" ? ONLY_SERVICES : TARGET_KINDS
  const at = kind.text === "Service" || (isOfGateway && allowed !== "services") ? group : kind
  at.error("not-supported", `${wanted}; found \`${found}\``, fixFor(kind.text, isOfGateway, allowed))
}

function fixFor(kind: string, isOfGateway: boolean, allowed: Targets): string {
  if (isOfGateway) return allowed === "services" ? AT_A_GATEWAY : `write \`group: ${GATEWAY_GROUP}\``
  const known = Object.hasOwn(ELSEWHERE, kind) ? ELSEWHERE[kind] : undefined
  return known ?? "write `kind: Service` and the name of a Service in the policy's namespace"
}

function checkName(name: Field): void {
  if (name.text === undefined || name.text.length <= MAX_GATEWAY_TARGET_NAME) return
  const problem = `the name of a Gateway or a route must have at most ${MAX_GATEWAY_TARGET_NAME} characters here`
  name.error("bad-value", problem, "give it a shorter name, or select the authorizers by `selector.matchLabels`")
}
