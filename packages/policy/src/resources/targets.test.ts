// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import type { Kind } from "./document.js"
import { expectClean, expectError, judge, type Rejection } from "./testing/documents.js"

const KINDS = ["AuthorizationPolicy", "RequestAuthentication", "PeerAuthentication"] as const satisfies readonly Kind[]
const web = { kind: "Service", name: "web" }
const AT = "spec.targetRefs[0]"

describe.each(KINDS)("a %s that names Services", kind => {
  test.each<[string, object]>([
    ["one", { targetRefs: [web] }],
    ["one of the empty group", { targetRefs: [{ group: "", ...web }] }],
    ["one of the group `core`", { targetRefs: [{ group: "core", ...web }] }],
    ["several", { targetRefs: [web, { kind: "Service", name: "api" }] }],
  ])("is accepted with %s", (_, spec) => expectClean(judge(kind, spec)))

  const rejections: readonly Rejection[] = [
    ["none", { targetRefs: [] }, "spec.targetRefs", "must name at least one target"],
    [
      "labels beside them",
      { selector: { matchLabels: { app: "web" } }, targetRefs: [web] },
      "spec.targetRefs",
      "only one of targetRefs or selector can be set",
    ],
    ["a selector without labels beside them", { selector: {}, targetRefs: [web] }, "spec.targetRefs", "only one of"],
    ["another namespace", { targetRefs: [{ ...web, namespace: "bar" }] }, `${AT}.namespace`, "cross namespace"],
    ["a section of one", { targetRefs: [{ ...web, sectionName: "http" }] }, `${AT}.sectionName`, "every port"],
    ["no name", { targetRefs: [{ kind: "Service" }] }, `${AT}.name`, "name"],
    ["an empty name", { targetRefs: [{ kind: "Service", name: "" }] }, `${AT}.name`, "targetRef name must be set"],
    ["no kind", { targetRefs: [{ name: "web" }] }, `${AT}.kind`, "kind"],
    ["a misspelt field", { targetRefs: [{ ...web, nam: "web" }] }, `${AT}.nam`, "did you mean `name`?"],
    [
      "a Service of another group",
      { targetRefs: [{ group: "x.dev", ...web }] },
      `${AT}.group`,
      "found `x.dev/Service`",
    ],
    ["the spelling of one alone", { targetRef: web }, "spec.targetRef", "write `targetRefs: [{kind: Service"],
    ["more than sixteen", { targetRefs: Array(17).fill(web) }, "spec.targetRefs", "16"],
  ]
  test.each(rejections)("is rejected with %s", (_, spec, path, message) =>
    expectError(judge(kind, spec), path, message),
  )

  test.each([
    ["gateway.networking.k8s.io", "GatewayClass", "root namespace"],
    ["networking.istio.io", "ServiceEntry", "workloads outside the mesh"],
    ["apps", "Deployment", "selector.matchLabels"],
    ["x.dev", "toString", "write `kind: Service`"],
  ])("is rejected with the name that %s/%s has here", (group, of, fix) => {
    const validation = judge(kind, { targetRefs: [{ group, kind: of, name: "x" }] })
    expectError(
      validation,
      `${AT}.kind`,
      kind === "PeerAuthentication" ? "must be a Service" : "a target must be a Service, or",
    )
    expectError(validation, `${AT}.kind`, fix)
  })
})

const GATEWAY_KINDS = ["Gateway", "HTTPRoute", "GRPCRoute"]

describe.each(["AuthorizationPolicy", "RequestAuthentication"] as const)("a %s", kind => {
  const target = (of: string, more: object = {}) => ({
    targetRefs: [{ group: "gateway.networking.k8s.io", kind: of, name: "public", ...more }],
  })
  it.each(GATEWAY_KINDS)("may target a %s", of => expectClean(judge(kind, target(of))))
  it.each(GATEWAY_KINDS)("is rejected with a %s of another group or without a group", of => {
    expectError(judge(kind, target(of, { group: "x.dev" })), `${AT}.group`, "write `group: gateway.networking.k8s.io`")
    const { errors } = judge(kind, { targetRefs: [{ kind: of, name: "public" }] })
    expect(errors.map(({ message }) => message).join()).toContain("write `group: gateway.networking.k8s.io`")
  })
  it("is rejected with a name that no label can have", () => {
    expectError(judge(kind, target("Gateway", { name: "x".repeat(64) })), `${AT}.name`, "at most 63 characters")
  })
})

it.each(GATEWAY_KINDS)("rejects a PeerAuthentication that targets a %s", of => {
  const spec = { targetRefs: [{ group: "gateway.networking.k8s.io", kind: of, name: "public" }] }
  expectError(judge("PeerAuthentication", spec), `${AT}.kind`, "select the authorizers of the gateway")
})

it("sets modes by port for the workloads of a Service", () => {
  expectClean(judge("PeerAuthentication", { targetRefs: [web], portLevelMtls: { 8080: { mode: "DISABLE" } } }))
})

it("rejects `targetRefs` in a PolicyInvariant, with the reason", () => {
  const never = [{ name: "x", to: [{ operation: { paths: ["/x"] } }] }]
  const { errors } = judge("PolicyInvariant", { targetRefs: [web], never })
  const result = errors.map(({ message }) => message).join()
  expect(result).toContain("deleting a Service would silently disable it")
  expect(result).toContain("select the workloads by `selector.matchLabels`")
})
