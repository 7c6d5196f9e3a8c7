// SPDX-License-Identifier: Apache-2.0
//
// ValidatingAdmissionPolicies count where a binding says so, and fail closed unless they say otherwise.

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

/** `passed`, or status, reason and message of the rejection; with what was warned of. */
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
  ["rejects what breaks it", [policy(), binding()], undefined, [REJECTED("one container is enough")]],
  ["allows what does not", [policy(), binding()], { object: pod(1) }, ["passed"]],
  ["is nothing without a binding", [policy()], undefined, ["passed"]],
  ["is nothing by the binding of another", [policy(), binding({ policyName: "other" })], undefined, ["passed"]],
  ["is not asked about other kinds", [policy(), binding()], { plural: "configmaps", object: pod(2) }, ["passed"]],
  [
    "is not asked about what it excludes",
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
    "only warns where its binding only warns",
    [policy(), binding({ validationActions: ["Warn"] })],
    undefined,
    ["passed", `Validation failed for ${TEXT("one container is enough")}`],
  ],
  [
    "says its expression where it has no message, and rejects with its own reason",
    [policy({ validations: [{ expression: "false", reason: "Forbidden" }] }), binding()],
    undefined,
    [REJECTED("failed expression: false", "403 Forbidden")],
  ],
  [
    "knows its own variables",
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
  ["is left out where a condition does not hold", [policy(condition("false")), binding()], undefined, ["passed"]],
])("a policy %s", async (_, objects, asked, expected) => {
  expect(await outcome(objects, asked)).toEqual(expected)
})

function condition(expression: string): JsonObject {
  return { matchConditions: [{ name: "only", expression }] }
}

it.each<[string, JsonObject]>([
  ["rule", { validations: [{ expression: "object.spec.nothing.there == 1" }] }],
  ["condition", condition("object.spec.nothing.there == 1")],
  ["rule that asks for parameters, which there are none", { validations: [{ expression: "params.spec.most > 1" }] }],
])("a %s that cannot be evaluated rejects, unless the policy says otherwise", async (_, spec) => {
  expect((await outcome([policy(spec), binding()]))[0]).toMatch(/^422 Invalid /)
  expect(await outcome([policy({ ...spec, failurePolicy: "Ignore" }), binding()])).toEqual(["passed"])
})

it("policies do not block their own repair", async () => {
  const all = policy({ matchConstraints: { resourceRules: [{ ...PODS[0], apiGroups: ["*"], resources: ["*"] }] } })
  const asked = { group: "admissionregistration.k8s.io", plural: "validatingadmissionpolicies", object: policy() }
  expect(await outcome([all, binding()], asked)).toEqual(["passed"])
})
