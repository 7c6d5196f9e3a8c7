// SPDX-License-Identifier: Apache-2.0
// Whether a webhook or policy applies to a request: by rule (group, version, resource, operation, scope), by the labels
// of the namespace and of the object, and by CEL conditions.

import type { AdmissionRequest, RequestContext } from "../registry/context.js"
import { isNamespace, type Kind } from "../registry/kind.js"
import { compileCel } from "../schema/cel/environment.js"
import { toCel } from "../schema/cel/values.js"
import { type LabelSelector, matchesLabels, selectorFromObject } from "../selectors/label.js"
import { asArray, asObject, asString, asStrings, dig, type Json, type JsonObject } from "../value.js"

export interface AdmissionCall {
  readonly kind: Kind
  readonly request: AdmissionRequest
  readonly context: RequestContext
  readonly namespaceLabels: JsonObject
}

const any = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value)

export function matchesRules(rules: Json | undefined, { kind, request, context }: AdmissionCall): boolean {
  const { info } = kind
  // ANY rule is sufficient; within a rule ALL parts must match.
  return asArray(rules).some(item => {
    const rule = asObject(item)
    const scope = asString(rule.scope) || "*"
    return (
      any(asStrings(rule.operations), request.operation) &&
      any(asStrings(rule.apiGroups), info.group) &&
      any(asStrings(rule.apiVersions), info.version) &&
      asStrings(rule.resources).some(resource => matchesResource(resource, info.plural, context.subresource)) &&
      (scope === "*" || (scope === "Namespaced") === info.namespaced)
    )
  })
}

function matchesResource(pattern: string, resource: string, subresource: string): boolean {
  const [name = "", sub] = pattern.split("/")
  if (name !== "*" && name !== resource) return false
  if (pattern === "*/*") return true
  return sub === undefined ? subresource === "" : sub === "*" || sub === subresource
}

export function matchesSelectors(hook: JsonObject, { kind, request, namespaceLabels }: AdmissionCall): boolean {
  const namespaces = selectorFromObject(hook.namespaceSelector)
  if (
    namespaces !== undefined &&
    namespaces.length > 0 &&
    (kind.info.namespaced || isNamespace(kind)) &&
    !matchesLabels(namespaces, namespaceLabels)
  )
    return false
  const objects = selectorFromObject(hook.objectSelector)
  if (objects === undefined || objects.length === 0) return true
  return matchesObject(objects, request.object) || matchesObject(objects, request.oldObject)
}

function matchesObject(selector: LabelSelector, object: JsonObject | null): boolean {
  return object !== null && matchesLabels(selector, asObject(dig(object, "metadata", "labels")))
}

export const CONDITION_VARIABLES = ["object", "oldObject", "request", "namespaceObject", "params", "variables"]

export function celBindings(call: AdmissionCall, review: JsonObject): Record<string, ReturnType<typeof toCel>> {
  return {
    object: toCel(call.request.object),
    oldObject: toCel(call.request.oldObject),
    request: toCel(review),
    namespaceObject: toCel({ metadata: { labels: call.namespaceLabels } }),
    params: null,
    variables: new Map(),
  }
}

/** Returns true, false, or an error, which the failure policy handles. */
export function matchesConditions(
  hook: JsonObject,
  call: AdmissionCall,
  review: JsonObject,
): boolean | { error: string } {
  const bindings = celBindings(call, review)
  let failure: string | undefined
  for (const item of asArray(hook.matchConditions)) {
    const condition = asObject(item)
    const outcome = compileCel(asString(condition.expression), CONDITION_VARIABLES)(bindings)
    if ("error" in outcome)
      failure ??= `expression '${asString(condition.expression)}' resulted in error: ${outcome.error}`
    else if (outcome.value === false) return false
  }
  return failure === undefined ? true : { error: failure }
}
