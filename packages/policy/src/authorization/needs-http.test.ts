// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { meshConfig } from "../mesh/config.js"
import { compile } from "../program.js"
import type { PolicyDocument } from "../resources/document.js"
import { needsHttp } from "./needs-http.js"

type Spec = Extract<PolicyDocument, { kind: "AuthorizationPolicy" }>["spec"]

function needed(spec: Spec): boolean {
  const document: PolicyDocument = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "p", namespace: "foo" },
    spec,
  }
  return needsHttp(compile([document], { namespace: "foo", name: "a", labels: {} }, meshConfig()), 8080)
}

const GET = { methods: ["GET"] }

test.each<[string, Spec, boolean]>([
  ["nothing", {}, false],
  ["a method", { rules: [{ to: [{ operation: GET }] }] }, true],
  ["a method of this port", { rules: [{ to: [{ operation: { ...GET, ports: ["8080"] } }] }] }, true],
  ["a method of another port", { rules: [{ to: [{ operation: { ...GET, ports: ["9090"] } }] }] }, false],
  ["a method of every other port", { rules: [{ to: [{ operation: { ...GET, notPorts: ["8080"] } }] }] }, false],
  [
    "a method of another port, and any operation of this one",
    { rules: [{ to: [{ operation: { ...GET, ports: ["9090"] } }, { operation: { ports: ["8080"] } }] }] },
    false,
  ],
  [
    "a method, under a condition on another port",
    { rules: [{ to: [{ operation: GET }], when: [{ key: "destination.port", values: ["9090"] }] }] },
    false,
  ],
  ["a header", { rules: [{ when: [{ key: "request.headers[x]", values: ["1"] }] }] }, true],
  ["a token's principal", { rules: [{ from: [{ source: { requestPrincipals: ["*"] } }] }] }, true],
  ["an identity", { rules: [{ from: [{ source: { principals: ["*"] } }] }] }, false],
  ["an address", { action: "DENY", rules: [{ from: [{ source: { ipBlocks: ["10.0.0.0/8"] } }] }] }, false],
  ["a method in shadow", { enforcement: "Shadow", rules: [{ to: [{ operation: GET }] }] }, false],
])("a policy that looks at %s", (_, spec, expected) => {
  expect(needed(spec)).toBe(expected)
})
