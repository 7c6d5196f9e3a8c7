// SPDX-License-Identifier: Apache-2.0
// Checks a policy's target: labels or Services, never both. Of the `targetRefs` kinds that other meshes allow, only
// Service is supported, because only it selects workloads.

import { ONLY_SERVICES } from "./common.js"
import { shown } from "./fault.js"
import type { Field } from "./field.js"
import { checkSelector } from "./labels.js"

/** What people name elsewhere, and what says the same here. */
const ELSEWHERE: { readonly [kind: string]: string } = {
  Gateway: "name the Service of the workloads behind the gateway, or select the gateway's own Pods by `selector`",
  GatewayClass: "put the policy into the root namespace to make it mesh-wide",
  HTTPRoute: "name the Service that the route leads to, and the paths in `to.operation.paths`",
  GRPCRoute: "name the Service that the route leads to, and the methods in `to.operation.paths`",
  ServiceEntry: "name a Service: workloads outside the mesh have no proxy that could enforce a policy",
  Deployment: "select its Pods by `selector.matchLabels`",
  Pod: "select it by `selector.matchLabels`",
  Namespace: "leave out `targetRefs`: the policy then applies to its whole namespace",
}

export function checkScope(spec: Field): void {
  const [selector, targets] = [spec.field("selector"), spec.field("targetRefs")]
  checkSelector(selector)
  if (!targets.present) return
  if (selector.present) {
    const problem = "only one of targetRefs or selector can be set"
    targets.fault("conflict", problem, "keep `selector` for labels or `targetRefs` for Services, and remove the other")
  }
  for (const target of targets.items) checkTarget(target)
}

function checkTarget(target: Field): void {
  const [group, kind] = [target.field("group"), target.field("kind")]
  // What is missing or no text has been reported as such.
  if (kind.text === undefined || kind.text === "") return
  const isCore = group.text === undefined || group.text === "" || group.text === "core"
  if (kind.text === "Service" && isCore) return
  const found = shown(isCore ? kind.text : `${group.text ?? ""}/${kind.text}`)
  const known = Object.hasOwn(ELSEWHERE, kind.text) ? ELSEWHERE[kind.text] : undefined
  const fix = known ?? "write `kind: Service` and the name of a Service in the policy's namespace"
  const at = kind.text === "Service" ? group : kind
  at.fault("not-supported", `${ONLY_SERVICES}; found \`${found}\``, fix)
}
