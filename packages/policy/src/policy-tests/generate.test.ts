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

const fileOf = (cases: string) => {
  const [file] = readTests(`${HEAD}cases: ${cases}`).files
  if (file === undefined) throw new Error("no file")
  return file
}

it("writes a case for each uncovered rule and for each of its fields", () => {
  const file = fileOf("[{ request: { path: /x }, expect: 403 }]")
  const cases = missingCases(file, documents, mesh, NOW)
  const decided = cases.filter(({ name }) => name.includes("decides")).map(({ expect: { rule } }) => rule)
  expect(decided).toEqual(["foo/readers[0]", "foo/readers[1]", "foo/no-admin[0]"])
  expect(cases.map(({ name }) => name.replace(/: (GET|PUT|POST|a TCP).*/, ""))).toEqual(
    expect.arrayContaining([
      "denied because of its token, or because it has none",
      "beside foo/readers[0], by from[0].source.namespaces",
      "beside foo/readers[0], by to[0].operation.methods",
      "beside foo/readers[0], by to[0].operation.paths",
      "beside foo/readers[1], by from[0].source.requestPrincipals",
    ]),
  )
})

it("writes cases that pass, after which nothing is missing", () => {
  const file = fileOf("[{ request: { path: /x }, expect: 403 }]")
  const written = stringify(generatedTest(file, missingCases(file, documents, mesh, NOW)))
  const { files, errors } = readTests(written)
  expect(errors).toEqual([])
  const [generated] = files
  if (generated === undefined) throw new Error("no file")
  const run = runTests(generated, documents, mesh, NOW)
  expect(run.results.filter(({ passed }) => !passed)).toEqual([])
  expect(run.coverage.every(({ decided: count }) => count > 0)).toBe(true)
  const both = { ...generated, cases: [...file.cases, ...generated.cases] }
  expect(missingCases(both, documents, mesh, NOW)).toEqual([])
})

it("writes nothing if every region is covered by a case or has no request", () => {
  const file = fileOf(`
- { request: { from: cluster.local/ns/team/sa/a, path: /a/1 }, expect: allow }
- { request: { from: cluster.local/ns/x/sa/a }, expect: 403 }`)
  const only = policy("only", { rules: [{ from: [{ source: { namespaces: ["team"] } }] }] })
  const elsewhere = policy("elsewhere", { rules: [{}] }, "bar")
  expect(missingCases(file, [only, elsewhere], mesh, NOW)).toEqual([])
  expect(generatedTest(file, [])).toBeUndefined()
})
