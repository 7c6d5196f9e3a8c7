// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { parseRequest } from "./request-info.js"

it.each<[string, string, object]>([
  ["GET", "/api/v1/namespaces", { resource: "namespaces", name: "", namespace: "", verb: "list" }],
  [
    "GET",
    "/api/v1/namespaces/a",
    { resource: "namespaces", name: "a", namespace: "a", verb: "get", namespaced: false },
  ],
  [
    "PUT",
    "/api/v1/namespaces/a/finalize",
    { resource: "namespaces", name: "a", subresource: "finalize", verb: "update" },
  ],
  ["GET", "/api/v1/namespaces/a/pods", { resource: "pods", namespace: "a", name: "", verb: "list", namespaced: true }],
  ["GET", "/api/v1/namespaces/a/pods?watch=1", { verb: "watch" }],
  ["GET", "/api/v1/watch/namespaces/a/pods/p", { resource: "pods", name: "p", watchPrefix: true, verb: "watch" }],
  [
    "PATCH",
    "/apis/apps/v1/namespaces/a/deployments/d/scale",
    { group: "apps", version: "v1", resource: "deployments", name: "d", subresource: "scale", verb: "patch" },
  ],
  ["DELETE", "/apis/g.io/v1/things", { group: "g.io", resource: "things", verb: "deletecollection" }],
  ["DELETE", "/apis/g.io/v1/things/x", { verb: "delete", name: "x" }],
  ["GET", "/api/v1/nodes/a%2Fb", { name: "a/b" }],
])("%s %s", (method, target, expected) => {
  const [path = "", query = ""] = target.split("?")
  expect(parseRequest(method, path, new URLSearchParams(query))).toMatchObject({ kind: "resource", ...expected })
})

it.each([
  "/",
  "/api",
  "/api/v1",
  "/apis",
  "/apis/apps",
  "/apis/apps/v1",
  "/healthz",
  "//api/v1/namespaces",
  "/version",
])("parses %s as a non-resource path", path => {
  expect(parseRequest("GET", path, new URLSearchParams())).toEqual({ kind: "path", path, verb: "get" })
})
