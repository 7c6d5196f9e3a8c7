// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import type { AuthorizationPolicySpec } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument } from "../../resources/document.js"
import { changeEffect } from "./change-effect.js"

const policy = (name: string, spec: AuthorizationPolicySpec): AuthorizationPolicy => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
})
const of = (...namespaces: string[]) => policy("web", { rules: [{ from: [{ source: { namespaces } }] }] })
const workloads = Array.from({ length: 7 }, (_, index) => ({ namespace: "foo", name: `web-${index}`, labels: {} }))
const effect = (before: PolicyDocument | undefined, after: PolicyDocument | undefined, steps = 1_000_000) =>
  changeEffect({ documents: [], before, after }, workloads, meshConfig(), { now: 1_000, limits: { steps } })

it("reports what a change newly allows and denies, with some of the workloads", () => {
  const { allowed, denied, undecided } = effect(of("ops", "old"), of("ops", "new"))
  expect(allowed).toEqual([{ region: "any request from namespace new", workloads: expect.any(Array), more: 2 }])
  expect(denied.map(({ region }) => region)).toEqual(["any request from namespace old"])
  expect(allowed[0]?.workloads).toHaveLength(5)
  expect(undecided).toBeUndefined()
})

it("claims nothing if time runs out", () => {
  expect(effect(of("ops"), of("new"), 5)).toMatchObject({ allowed: [], denied: [], undecided: expect.any(String) })
})

it("is empty if every request is decided as before", () => {
  expect(effect(of("ops"), of("ops", "ops"))).toEqual({ allowed: [], denied: [] })
})
