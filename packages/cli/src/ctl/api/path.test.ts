// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import type { Resource } from "../catalog/resource.js"
import { EXIT } from "../exit.js"
import { pathOf } from "./path.js"

const PODS = { group: "", version: "v1", plural: "pods", namespaced: true } as Resource // only what a path needs
const POLICIES = { ...PODS, group: "security.merlon.dev", plural: "authorizationpolicies" }

it.each([
  [pathOf(PODS, { namespace: "foo", name: "a.b" }), "/api/v1/namespaces/foo/pods/a.b"],
  [pathOf(PODS, {}), "/api/v1/pods"],
  [pathOf(PODS, { namespace: "foo" }, { limit: 1, x: undefined }), "/api/v1/namespaces/foo/pods?limit=1"],
  [
    pathOf(POLICIES, { namespace: "foo", name: "system:x y", subresource: "status" }),
    "/apis/security.merlon.dev/v1/namespaces/foo/authorizationpolicies/system%3Ax%20y/status",
  ],
])("points to what is named: %s", (path, expected) => {
  expect(path).toBe(expected)
})

describe("a name with path segments", () => {
  it.each([".", "..", "", "a/b", "../..", "%2e%2e"])("is rejected, as `%s` for an object or a namespace", name => {
    const rejected = expect.objectContaining({ exitCode: EXIT.usage, message: expect.stringContaining("is no name") })
    expect(() => pathOf(PODS, { namespace: "foo", name })).toThrow(rejected)
    expect(() => pathOf(PODS, { namespace: name, name: "a" })).toThrow(rejected)
  })
})
