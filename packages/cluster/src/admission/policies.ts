// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicies: CEL rules on requests, active where a binding applies them. Parameters are not
// supported. A binding with parameters denies, because its rules cannot be evaluated.

import { ApiError, qualified } from "../meta/status.js"
import type { Catalog } from "../registry/catalog.js"
import { groupResource, prefixOf } from "../registry/kind.js"
import { type CelBinding, compileCel } from "../schema/cel/environment.js"
import type { Store } from "../store/store.js"
import { asArray, asObject, asString, asStrings, dig, isObject, type JsonObject } from "../value.js"
import {
  type AdmissionCall,
  CONDITION_VARIABLES,
  celBindings,
  matchesConditions,
  matchesRules,
  matchesSelectors,
} from "./match.js"
import { reviewRequest } from "./review.js"

const GROUP = "admissionregistration.k8s.io"

export async function checkPolicies(store: Pick<Store, "range">, catalog: Catalog, call: AdmissionCall): Promise<void> {
  if (call.kind.info.group === GROUP) return
  const all = async (plural: string): Promise<JsonObject[]> => {
    const { info } = catalog.builtin(GROUP, "v1", plural)
    return (await store.range({ prefix: prefixOf(info, "") })).entries.map(entry => entry.object)
  }
  const policies = await all("validatingadmissionpolicies")
  if (policies.length === 0) return
  const bindings = await all("validatingadmissionpolicybindings")
  for (const binding of bindings) {
    const policy = policies.find(item => dig(item, "metadata", "name") === dig(binding, "spec", "policyName"))
    if (policy !== undefined) checkBound(policy, binding, call)
  }
}

function selected(match: JsonObject, call: AdmissionCall): boolean {
  if (Array.isArray(match.resourceRules) && !matchesRules(match.resourceRules, call)) return false
  if (Array.isArray(match.excludeResourceRules) && matchesRules(match.excludeResourceRules, call)) return false
  return matchesSelectors(match, call)
}

function checkBound(policy: JsonObject, binding: JsonObject, call: AdmissionCall): void {
  const spec = asObject(policy.spec)
  if (!selected(asObject(spec.matchConstraints), call)) return
  if (
    isObject(dig(binding, "spec", "matchResources")) &&
    !selected(asObject(dig(binding, "spec", "matchResources")), call)
  )
    return
  const review = reviewRequest(call)
  const failOpen = spec.failurePolicy === "Ignore"
  const wanted = matchesConditions(spec, call, review)
  if (wanted === false) return
  const actions = asStrings(dig(binding, "spec", "validationActions"))
  const reject = (message: string, reason: string): void => {
    const text = `ValidatingAdmissionPolicy '${asString(dig(policy, "metadata", "name"))}' with binding '${asString(dig(binding, "metadata", "name"))}' denied request: ${message}`
    if (actions.includes("Warn")) call.context.warn(`Validation failed for ${text}`)
    if (actions.includes("Deny")) throw denied(call, text, reason)
  }
  if (wanted !== true) {
    if (!failOpen) reject(wanted.error, "Invalid")
    return
  }
  const variables = celBindings(call, review)
  const named = new Map<string, CelBinding>()
  for (const item of asArray(spec.variables).map(asObject)) {
    const outcome = compileCel(asString(item.expression), CONDITION_VARIABLES)({ ...variables, variables: named })
    if ("value" in outcome) named.set(asString(item.name), outcome.value)
  }
  for (const item of asArray(spec.validations).map(asObject)) {
    const expression = asString(item.expression)
    const outcome = compileCel(expression, CONDITION_VARIABLES)({ ...variables, variables: named })
    if ("error" in outcome) {
      // Fail closed unless the failure policy is Ignore.
      if (!failOpen) reject(`expression '${expression}' resulted in error: ${outcome.error}`, "Invalid")
    } else if (outcome.value !== true)
      reject(asString(item.message) || `failed expression: ${expression}`, asString(item.reason) || "Invalid")
  }
}

function denied(call: AdmissionCall, text: string, reason: string): ApiError {
  const codes: Record<string, number> = { Unauthorized: 401, Forbidden: 403, Invalid: 422, RequestEntityTooLarge: 413 }
  const gr = groupResource(call.kind.info)
  const name = asString(dig(call.request.object ?? call.request.oldObject ?? {}, "metadata", "name"))
  return new ApiError(codes[reason] ?? 422, reason, `${qualified(gr)} "${name}" is forbidden: ${text}`, {
    name,
    group: gr.group,
    kind: gr.resource,
    causes: [{ message: text }],
  })
}
