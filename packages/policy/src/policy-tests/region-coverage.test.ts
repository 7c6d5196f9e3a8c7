// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { policies } from "../authorization/testing/arbitraries.js"
import { naming, policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import type { PeerAuthentication, PolicyDocument } from "../resources/document.js"
import { validate } from "../resources/validate.js"
import { missingCases } from "./generate.js"
import { regionCoverage } from "./region-coverage.js"
import { isWithin } from "./regions.js"
import { runTests } from "./run-tests.js"
import { type PolicyTestFile, readTests } from "./test-file.js"

const mesh = meshConfig()
const NOW = 1_790_000_000
const HEAD = "kind: PolicyTest\nworkloads: { web: { namespace: foo, labels: { app: httpbin } } }\n"
const strict: PeerAuthentication = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PeerAuthentication",
  metadata: { name: "strict", namespace: "foo" },
  spec: { mtls: { mode: "STRICT" } },
}
const team = { source: { namespaces: ["team"] } }
const ops = { source: { namespaces: ["ops"] } }
const get = { operation: { methods: ["GET"], notPaths: ["/admin"] } }
const put = { operation: { methods: ["PUT"] } }

function fileOf(cases: string): PolicyTestFile {
  const { files, errors } = readTests(`${HEAD}cases:\n${cases}`)
  expect(errors).toEqual([])
  const [file] = files
  if (file === undefined) throw new Error("no file")
  return file
}

function touched(cases: string, documents: readonly PolicyDocument[]): Record<string, number> {
  const file = fileOf(cases)
  const found = regionCoverage(file, documents, mesh, NOW, runTests(file, documents, mesh, NOW))
  for (const { region, touched: count, example } of found) {
    expect(example === undefined).toBe(count > 0)
    if (example !== undefined) expect(isWithin(region, example.answer), region.words).toBe(true)
  }
  return Object.fromEntries(found.map(({ region, touched: count }) => [region.words, count]))
}

it("names what settles a request, each alternative of a rule, and what each field keeps out", () => {
  const documents = [
    strict,
    policy("both", { rules: [{ from: [team, ops], to: [get, put] }] }),
    policy("no-debug", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/debug*"] } }] }] }),
  ]
  const cases = `
- { request: { from: cluster.local/ns/team/sa/a }, expect: allow }
- { request: { from: cluster.local/ns/x/sa/a }, expect: 403 }
- { request: { from: cluster.local/ns/ops/sa/a, path: /admin }, expect: 403 }`
  expect(touched(cases, documents)).toEqual({
    "closed by the mTLS mode": 0,
    "denied because no ALLOW rule matches": 2,
    "allowed by foo/both[0] from[0]: GET any path but /admin or PUT from namespace team": 1,
    "allowed by foo/both[0] from[1]: GET any path but /admin or PUT from namespace ops": 0,
    "allowed by foo/both[0] to[0]: GET any path but /admin from namespace team or namespace ops": 1,
    "allowed by foo/both[0] to[1]: PUT from namespace team or namespace ops": 0,
    "denied only for from[0].source.namespaces of foo/both[0]": 1,
    "denied only for from[1].source.namespaces of foo/both[0]": 1,
    "denied only for to[0].operation.methods of foo/both[0]": 0,
    "denied only for to[0].operation.notPaths of foo/both[0]": 1,
    "denied only for to[1].operation.methods of foo/both[0]": 1,
    "denied by foo/no-debug[0]: /debug* from any caller": 0,
    "allowed only for to[0].operation.paths of foo/no-debug[0]": 3,
  })
})

it("counts a token that is missing, and what passes where no ALLOW policy applies", () => {
  const cases = "\n- { request: {}, expect: allow }\n- { request: { token: none }, expect: 401 }"
  expect(touched(cases, [naming(["https://i.example"])])).toEqual({
    "denied because of its token, or because it has none": 1,
    "allowed because no ALLOW policy applies": 1,
  })
})

it("leaves out regions that contain no request", () => {
  const everybody = policy("all", { rules: [{}, { to: [get] }] })
  expect(Object.keys(touched("\n- { request: {}, expect: allow }", [everybody]))).toEqual([
    "allowed by foo/all[0]: any request from any caller",
    "allowed by foo/all[1]: GET any path but /admin from any caller",
  ])
})

it("leaves out shadow policies, which decide nothing", () => {
  const shadow = policy("later", { enforcement: "Shadow", rules: [{ to: [get] }] })
  expect(Object.keys(touched("\n- { request: {}, expect: allow }", [shadow]))).toEqual([
    "allowed because no ALLOW policy applies",
  ])
})

it("finds a request in each region, for any policies", () => {
  const file = fileOf("\n- { request: {}, expect: allow }")
  fc.assert(
    fc.property(policies, documents => {
      fc.pre(documents.every(one => validate(one, mesh.names).document !== undefined))
      const cases = missingCases(file, documents, mesh, NOW)
      const run = runTests({ ...file, cases }, documents, mesh, NOW)
      expect(run.results.filter(({ passed }) => !passed)).toEqual([])
      const left = missingCases({ ...file, cases: [...file.cases, ...cases] }, documents, mesh, NOW)
      expect(left.map(({ name }) => name)).toEqual([])
    }),
    { numRuns: 25 * inject("effort") },
  )
})
