// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { type PolicyDocument, readDocuments } from "@merlon/policy/resources"
import type { DescribedRequest } from "@merlon/policy/trial"
import { expect, it, test } from "vitest"
import { explanationOf } from "./explanation.js"
import { explanationText } from "./format.js"

const mesh = meshConfig()
const NOW = 1_790_000_000
const workload = { namespace: "shop", name: "web", labels: { app: "web" } }

const POLICIES = `
apiVersion: security.merlon.dev/v1alpha3
kind: RequestAuthentication
metadata: { name: jwt, namespace: shop }
spec: { jwtRules: [{ issuer: "https://i.example", audiences: [shop] }] }
---
apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: readers, namespace: shop }
spec:
  rules:
    - from: [{ source: { namespaces: [team] } }]
      to: [{ operation: { methods: [GET], paths: ["/items/{*}"] } }]
---
apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: no-admin, namespace: shop }
spec: { action: DENY, rules: [{ to: [{ operation: { paths: ["/admin/{**}"], ports: ["8080"] } }] }] }
---
apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: later, namespace: shop }
spec: { enforcement: Shadow, rules: [{}] }
`
const documents = readDocuments(POLICIES, mesh.names).flatMap(({ document }): readonly PolicyDocument[] =>
  document ? [document] : [],
)
const explain = (asked: DescribedRequest) => explanationOf({ documents, workload, mesh, asked, now: NOW })
const from = "cluster.local/ns/team/sa/a"

const CASES: readonly (readonly [string, DescribedRequest])[] = [
  ["allowed", { from, path: "/items/1" }],
  ["two-fields-away", { from, path: "/other", method: "PUT" }],
  ["denied", { from, path: "/items/../admin/x" }],
  ["plaintext", { path: "/items/1" }],
  ["wrong-audience", { from, token: { claims: { iss: "https://i.example", aud: "bank" } } }],
  ["unknown-issuer", { from, token: "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2ouZXhhbXBsZSJ9.AAAA" }],
  ["tcp", { from, protocol: "tcp", port: 9000 }],
]

test.each(CASES)("%s is explained", async (name, asked) => {
  const explanation = explain(asked)
  await expect(`${explanationText(explanation)}\n`).toMatchFileSnapshot(`golden/${name}.txt`)
  await expect(`${JSON.stringify(explanation, undefined, 2)}\n`).toMatchFileSnapshot(`golden/${name}.json.txt`)
})

it("removes terminal control characters", () => {
  expect(explanationText(explain({ path: "/\u001b[2J" }))).not.toContain("\u001b[2J")
})
