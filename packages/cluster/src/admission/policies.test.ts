// SPDX-License-Identifier: Apache-2.0
//
// ValidatingAdmissionPolicies take effect through a binding and fail closed unless their failure policy is Ignore.

import { expect, it } from "vitest"
import { catalog, stored } from "../testing/stored.js"
import type { JsonObject } from "../value.js"
import { checkPolicies } from "./policies.js"
import { type Asked, call } from "./testing/call.js"

const POLICY = "admissionregistration.k8s.io/v1"
const PODS = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }]
const SMALL = { expression: "object.spec.containers.size() < 2", message: "one container is enough" }

const policy = (spec: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: POLICY, kind: "ValidatingAdmissionPolicy", metadata: { name: "small" } },
  spec: { matchConstraints: { resourceRules: PODS }, validations: [SMALL], ...spec },
})
const binding = (spec: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: POLICY, kind: "ValidatingAdmissionPolicyBinding", metadata: { name: "bound" } },
  spec: { policyName: "small", validationActions: ["Deny"], ...spec },
})
const pod = (containers: number): JsonObject => ({
  metadata: { name: "p", namespace: "shop" },
  spec: { containers: Array.from({ length: containers }, (_, index) => ({ name: `c${index}` })) },
})

/** `passed`, or status, reason and message of the rejection, followed by the warnings. */
async function outcome(objects: readonly JsonObject[], asked: Asked = { object: pod(2) }): Promise<readonly string[]> {
  const warned: string[] = []
  const verdict = await checkPolicies(
    stored(objects),
    catalog,
    call({ ...asked, warn: text => warned.push(text) }),
  ).then(
    () => "passed",
    ({ code, reason, message }) => `${code} ${reason} ${message}`,
  )
  return [verdict, ...warned]
}

const TEXT = (why: string): string => `ValidatingAdmissionPolicy 'small' with binding 'bound' denied request: ${why}`
const REJECTED = (why: string, status = "422 Invalid"): string => `${status} pods "p" is forbidden: ${TEXT(why)}`

it.each<[string, readonly JsonObject[], Asked | undefined, readonly string[]]>([
  ["rejects an object that violates it", [policy(), binding()], undefined, [REJECTED("one container is enough")]],
  ["allows an object that satisfies it", [policy(), binding()], { object: pod(1) }, ["passed"]],
  ["has no effect without a binding", [policy()], undefined, ["passed"]],
  [
    "has no effect through the binding of another policy",
    [policy(), binding({ policyName: "other" })],
    undefined,
    ["passed"],
  ],
  ["does not apply to other kinds", [policy(), binding()], { plural: "configmaps", object: pod(2) }, ["passed"]],
  [
    "does not apply to excluded resources",
    [policy({ matchConstraints: { resourceRules: PODS, excludeResourceRules: PODS } }), binding()],
    undefined,
    ["passed"],
  ],
  [
    "is narrowed by its binding",
    [policy(), binding({ matchResources: { namespaceSelector: { matchLabels: { strict: "yes" } } } })],
    undefined,
    ["passed"],
  ],
  [
    "only warns if its binding only warns",
    [policy(), binding({ validationActions: ["Warn"] })],
    undefined,
    ["passed", `Validation failed for ${TEXT("one container is enough")}`],
  ],
  [
    "without a message quotes its expression, and rejects with its own reason",
    [policy({ validations: [{ expression: "false", reason: "Forbidden" }] }), binding()],
    undefined,
    [REJECTED("failed expression: false", "403 Forbidden")],
  ],
  [
    "reads its own variables",
    [
      policy({
        variables: [{ name: "count", expression: "object.spec.containers.size()" }],
        validations: [{ expression: "variables.count == 1", message: "not one" }],
      }),
      binding(),
    ],
    undefined,
    [REJECTED("not one")],
  ],
  ["does not apply if a condition is false", [policy(condition("false")), binding()], undefined, ["passed"]],
])("a policy %s", async (_, objects, asked, expected) => {
  expect(await outcome(objects, asked)).toEqual(expected)
})

function condition(expression: string): JsonObject {
  return { matchConditions: [{ name: "only", expression }] }
}

it.each<[string, JsonObject]>([
  ["rule", { validations: [{ expression: "object.spec.nothing.there == 1" }] }],
  ["condition", condition("object.spec.nothing.there == 1")],
  ["rule that needs parameters, which are not supported", { validations: [{ expression: "params.spec.most > 1" }] }],
])("a %s that cannot be evaluated rejects the request, unless the failure policy is Ignore", async (_, spec) => {
  expect((await outcome([policy(spec), binding()]))[0]).toMatch(/^422 Invalid /)
  expect(await outcome([policy({ ...spec, failurePolicy: "Ignore" }), binding()])).toEqual(["passed"])
})

it("policies do not block their own repair", async () => {
  const all = policy({ matchConstraints: { resourceRules: [{ ...PODS[0], apiGroups: ["*"], resources: ["*"] }] } })
  const asked = { group: "admissionregistration.k8s.io", plural: "validatingadmissionpolicies", object: policy() }
  expect(await outcome([all, binding()], asked)).toEqual(["passed"])
})
