// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { AllowedPaths } from "./allowed-paths.js"

const allowed = new AllowedPaths({
  securityGroup: "security.merlon.dev",
  networkingGroup: "networking.merlon.dev",
  answersGroup: "answers.merlon.dev",
})

test.each([
  ["GET", "/apis/security.merlon.dev/v1/authorizationpolicies?watch=true"],
  ["PATCH", "/apis/security.merlon.dev/v1alpha3/namespaces/foo/authorizationpolicies/a.b?dryRun=All"],
  ["DELETE", "/apis/networking.merlon.dev/v1/namespaces/foo/meshservices/web"],
  ["POST", "/apis/answers.merlon.dev/v1alpha1/diffs"],
  ["GET", "/api/v1/namespaces"],
  ["GET", "/api/v1/namespaces/foo/pods"],
  ["POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"],
])("allows %s %s", (method, path) => {
  expect(allowed.rejection(method, path)).toBeUndefined()
})

test.each([
  ["a workload's own page", "GET", "/api/v1/namespaces/foo/services/web/proxy/"],
  ["a workload's own page by a Pod", "GET", "/api/v1/namespaces/foo/pods/web/proxy"],
  ["a shell", "POST", "/api/v1/namespaces/foo/pods/web/exec?command=sh"],
  ["secrets", "GET", "/api/v1/namespaces/foo/secrets"],
  ["secrets, in another spelling", "GET", "/api/v1/namespaces/foo/%73ecrets"],
  ["a way out by dots", "GET", "/apis/answers.merlon.dev/v1alpha1/../../../api/v1/secrets"],
  ["a way out by a decoded slash", "GET", "/apis/answers.merlon.dev/v1alpha1/..%2f..%2fsecrets"],
  ["two slashes", "GET", "/apis/answers.merlon.dev/v1alpha1//x"],
  ["a backslash", "GET", "/apis/answers.merlon.dev/v1alpha1/\\x"],
  ["another group that ends alike", "GET", "/apis/xsecurity.merlon.dev/v1/authorizationpolicies"],
  ["a dot that is none", "GET", "/apis/securityxmerlon.dev/v1/authorizationpolicies"],
  ["a subresource", "PUT", "/apis/security.merlon.dev/v1/namespaces/foo/authorizationpolicies/a/status"],
  ["writing Pods", "POST", "/api/v1/namespaces/foo/pods"],
  ["deleting answers", "DELETE", "/apis/answers.merlon.dev/v1alpha1/calls"],
  ["tokens", "POST", "/api/v1/namespaces/foo/serviceaccounts/x/token"],
])("rejects %s", (_, method, path) => {
  expect(allowed.rejection(method, path)).toBeTypeOf("string")
})
