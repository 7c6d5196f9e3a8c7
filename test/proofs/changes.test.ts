// SPDX-License-Identifier: Apache-2.0
// The certificate that the history keeps of a change: the checker accepts it with the policies that are kept beside it.

import { expect, it } from "vitest"
import { meshConfig } from "../../packages/policy/src/mesh/config.js"
import { certifiedEffect } from "../../packages/policy/src/proof/questions/certified-effect.js"
import type { AuthorizationPolicySpec } from "../../packages/policy/src/resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../packages/policy/src/resources/document.js"
import { checked } from "./certified.js"

const mesh = meshConfig()
const policy = (name: string, spec: AuthorizationPolicySpec, namespace = "foo", annotations = {}): PolicyDocument => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name, namespace, creationTimestamp: "2026-01-01T00:00:00Z", annotations, labels: { a: "b" } },
  spec,
})
const of = (namespaces: string[], annotations = {}) =>
  policy("web", { rules: [{ from: [{ source: { namespaces } }] }] }, "foo", annotations)
const deny = (path: string): AuthorizationPolicySpec => ({
  action: "DENY",
  rules: [{ to: [{ operation: { paths: [path] } }] }],
})
const workloads = ["web-1", "web-2"].map(name => ({ namespace: "foo", name, labels: { app: "web" } }))
const others = [
  policy("root", deny("/admin"), "merlon-system", { "merlon.dev/dry-run": "false", "example.com/note": "n" }),
  policy("own", deny("/own")),
  policy("elsewhere", deny("/secret"), "bar"),
  policy("for-others", { ...deny("/secret"), selector: { matchLabels: { app: "other" } } }, "merlon-system"),
]
const limits = { steps: 1_000_000 }
const effectOf = (before: PolicyDocument | undefined, after: PolicyDocument | undefined, more = {}) =>
  certifiedEffect({ documents: others, before, after }, workloads, mesh, {
    limits,
    now: 1_000,
    maxCharacters: 1_000_000,
    ...more,
  })

it.each([
  ["creates", undefined, of(["ops"])],
  ["updates", of(["ops"]), of(["ops", "dev"], { "kubectl.kubernetes.io/last-applied-configuration": "{}" })],
  ["deletes", of(["ops"]), undefined],
  ["changes nothing", of(["ops"]), of(["ops", "ops"])],
  ["turns a dry run off", of(["ops"], { "merlon.dev/dry-run": "true" }), of(["ops"])],
])("the certificate of a change that %s is valid", (_, before, after) => {
  const { evidence } = effectOf(before, after)
  if ("missing" in evidence) return expect.fail(evidence.missing)
  const sides = [evidence.before, evidence.after].map(one => [...evidence.others, ...(one === undefined ? [] : [one])])
  expect(checked(evidence.certificate, sides)).toHaveLength(1)
  expect(evidence.others.map(({ metadata: { name } }) => name).sort()).toEqual(["own", "root"])
  expect(() => checked(evidence.certificate, [...sides].reverse())).toThrow()
  // What clients note in the metadata is neither kept nor part of a digest.
  expect(JSON.stringify(evidence)).not.toMatch(/example.com|last-applied|labels":\{"a/)
})

it("has no certificate, and says why", () => {
  const why = (before: PolicyDocument, after: PolicyDocument, more = {}) => effectOf(before, after, more).evidence
  const [was, is] = [of(["ops"]), of(["dev"])]
  expect(why(was, is, { limits: { steps: 5 } })).toEqual({ missing: expect.stringContaining("it is not decided") })
  expect(why(was, is, { maxCharacters: 1_000 })).toEqual({ missing: "it has more than 1000 characters" })
  expect(why(was, is, { maxCharacters: 20 })).toEqual({ missing: expect.stringContaining("which is the limit") })
  expect(why(was, is, { limits: { steps: 1_000_000, deadline: 0, now: () => 1 } })).toEqual({
    missing: "the time limit was reached",
  })
  const elsewhere = (spec: AuthorizationPolicySpec) => policy("none", spec, "bar")
  expect(why(elsewhere({}), elsewhere({ rules: [{}] }))).toEqual({ missing: "no workload was selected" })
})

it("does not depend on the certificate", () => {
  const [was, is] = [of(["ops"]), of(["dev"])]
  expect(effectOf(was, is, { maxCharacters: 1_000 }).effect).toEqual(effectOf(was, is).effect)
})
