// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { stringify } from "yaml"
import { naming, policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import { generatedTest, missingCases } from "./generate.js"
import { runTests } from "./run-tests.js"
import { readTests } from "./test-file.js"

const mesh = meshConfig()
const NOW = 1_790_000_000
const HEAD =
  "kind: PolicyTest\nmetadata: { name: web }\nworkloads: { web: { namespace: foo, labels: { app: httpbin } } }\n"
const documents = [
  naming(["https://i.example"]),
  policy("readers", {
    rules: [
      { from: [{ source: { namespaces: ["team"] } }], to: [{ operation: { methods: ["GET"], paths: ["/a/*"] } }] },
      { from: [{ source: { requestPrincipals: ["https://i.example/*"] } }], to: [{ operation: { methods: ["PUT"] } }] },
    ],
  }),
  policy("no-admin", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/a/admin"] } }] }] }),
]

it("writes for each rule without a case one that it decides, and some just beside, all of which pass", () => {
  const [file] = readTests(`${HEAD}cases: [{ request: { path: /x }, expect: 403 }]`).files
  const cases = file === undefined ? [] : missingCases(file, documents, mesh, NOW)
  const decided = cases.filter(({ name }) => name.includes("decides")).map(({ expect: { rule } }) => rule)
  expect(decided).toEqual(["foo/readers[0]", "foo/readers[1]", "foo/no-admin[0]"])
  expect(cases.length).toBeGreaterThan(6)
  const written = file && stringify(generatedTest(file, cases))
  const { files, faults } = readTests(written ?? "")
  expect(faults).toEqual([])
  const [generated] = files
  const run = generated && runTests(generated, documents, mesh, NOW)
  expect(run?.results.filter(({ passed }) => !passed)).toEqual([])
  expect(run?.coverage.every(({ decided: count }) => count > 0)).toBe(true)
})

it("writes nothing where every rule is matched in some case, or none can be", () => {
  const cases = `cases:
- { request: { from: cluster.local/ns/team/sa/a, path: /a/1 }, expect: allow }`
  const [file] = readTests(HEAD + cases).files
  const only = policy("only", { rules: [{ from: [{ source: { namespaces: ["team"] } }] }] })
  const elsewhere = policy("elsewhere", { rules: [{}] }, "bar")
  expect(file && missingCases(file, [only, elsewhere], mesh, NOW)).toEqual([])
  expect(file && generatedTest(file, [])).toBeUndefined()
})
