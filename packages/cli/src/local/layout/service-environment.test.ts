// SPDX-License-Identifier: Apache-2.0
import { targetOf } from "@merlon/xclient"
import { expect, it } from "vitest"
import { serviceEnvironment } from "./service-environment.js"

it.each([
  ["merlon", "app", { host: "web", port: 80 }],
  ["dubbo", "foo", { host: "httpbin", port: 8000 }],
  ["my-mesh", "app", { host: "web", port: 80 }],
])("in a mesh called %s, a workload in %s calls the Service of its namespace", (mesh, namespace, target) => {
  expect(targetOf({}, serviceEnvironment(mesh, namespace), mesh)).toEqual(target)
})

it("is empty without a default Service", () => {
  expect(serviceEnvironment("merlon", "bar")).toEqual({})
})
