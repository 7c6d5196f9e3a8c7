// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { meshConfig } from "@merlon/policy/mesh"
import { regionCoverage, runTests } from "@merlon/policy/policy-tests"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { InputLog } from "../answers/inputs.js"
import { findTests } from "./find-tests.js"
import { type FileRun, testJunit, testReport, testText } from "./report.js"

const mesh = meshConfig()
const NOW = 1_790_000_000
const READ = { policies: 1, workloads: 1, skipped: [] }
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-tests-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, text: string): void => {
  mkdirSync(join(folder, name, ".."), { recursive: true })
  writeFileSync(join(folder, name), text)
}

const POLICY = `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: readers, namespace: shop }
spec:
  rules:
    - from: [{ source: { namespaces: [web] } }]
      to: [{ operation: { methods: [GET] } }]
    - to: [{ operation: { paths: [/never] } }]
`
const TESTS = `kind: PolicyTest
metadata: { name: readers }
workloads: { shop: { namespace: shop } }
cases:
  - { name: web reads, request: { from: cluster.local/ns/web/sa/a }, expect: { rule: "readers[0]" } }
  - { name: web writes, request: { from: cluster.local/ns/web/sa/a, method: PUT }, expect: allow }
  - { name: 'a "stranger" <reads>', request: { from: cluster.local/ns/x/sa/a }, expect: allow }
  - { name: plaintext, request: {}, expect: 403 }
`

async function run(...paths: string[]): Promise<readonly FileRun[]> {
  const found = await findTests(
    paths.map(path => join(folder, path)),
    { flags: { trustDomainAlias: [] }, note: () => undefined, log: new InputLog() },
  )
  return found.map(({ file, test, documents }) => {
    const results = runTests(test, documents, mesh, NOW)
    const regions = regionCoverage(test, documents, mesh, NOW, results)
    return { file: file.slice(folder.length + 1), name: test.name, ...results, regions }
  })
}

describe("tests in the folder of their policies", () => {
  beforeEach(() => {
    write("shop/readers.yaml", POLICY)
    write("shop/deep/readers.test.yaml", `${TESTS}policies: [..]\n`)
    write("node_modules/x/other.test.yaml", "kind: [")
  })

  it("are found in folders, and printed with the explanation under a failure", async () => {
    await expect(`${testText(await run("."), READ)}\n`).toMatchFileSnapshot("golden/test.txt")
  })

  it("are printed as JSON", async () => {
    const report = JSON.stringify(testReport(await run("."), READ), undefined, 2)
    await expect(`${report}\n`).toMatchFileSnapshot("golden/test.json.txt")
  })

  it("are written as JUnit XML", async () => {
    await expect(
      testJunit(await run("."), { ...READ, skipped: ["a.txt: it holds a `PolicyTest`"] }),
    ).toMatchFileSnapshot("golden/test.xml")
  })

  it("use the folder's policies by default", async () => {
    write("shop/own.test.yaml", TESTS)
    const [own] = await run("shop/own.test.yaml")
    expect(own?.results.map(({ passed }) => passed)).toEqual([true, false, false, true])
  })
})

it("reports the file and line of an invalid test", async () => {
  write("bad.test.yaml", "kind: PolicyTest\ncases:\n  - request: {}\n    expect: yes\n")
  await expect(run(".")).rejects.toThrow(/bad\.test\.yaml:4:\d+: cases\[0\]\.expect: what is expected is not said/)
})

it("reports the policy in a test that cannot be read", async () => {
  write("bad.test.yaml", `kind: PolicyTest\ndocuments: [{ kind: Policy }]\n${TESTS.slice(TESTS.indexOf("workloads"))}`)
  await expect(run(".")).rejects.toThrow(/documents\[0\]: kind: unknown kind `Policy`/)
})
