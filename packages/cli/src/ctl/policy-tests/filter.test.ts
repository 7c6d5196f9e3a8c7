// SPDX-License-Identifier: Apache-2.0
// `merlonctl test --filter`, as people type it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest"
import { runProgram } from "../program.js"

// The first use of a command loads it, which takes a while on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const TEST = `kind: PolicyTest
workloads: { shop: { namespace: shop } }
documents:
  - apiVersion: security.merlon.dev/v1alpha3
    kind: AuthorizationPolicy
    metadata: { name: readers, namespace: shop }
    spec: { action: DENY, rules: [{ to: [{ operation: { methods: [PUT] } }] }] }
cases:
  - { name: one, request: {}, expect: allow }
  - { name: two, request: {}, expect: allow }
never:
  - { name: nobody writes, to: [{ operation: { methods: [PUT] } }] }
`
let folder = ""
let file = ""
let out = ""
let err = ""

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-filter-"))
  file = join(folder, "own.test.yaml")
  writeFileSync(file, TEST)
})
afterAll(() => rmSync(folder, { recursive: true }))

beforeEach(() => {
  out = ""
  err = ""
  process.exitCode = undefined
  vi.spyOn(process.stdout, "write").mockImplementation(text => {
    out += String(text)
    return true
  })
  vi.spyOn(process.stderr, "write").mockImplementation(text => {
    err += String(text)
    return true
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  process.exitCode = undefined
})

it.each([
  ["one", "  ✓ one\n\n1 passed, 0 failed\nread: 1 policy, 1 workload\n"],
  ["nobody", "  ✓ never: nobody writes (shop/shop)\n\n1 passed, 0 failed\nread: 1 policy, 1 workload\n"],
])("runs the cases and statements with `%s` alone, and says nothing of what they leave out", async (text, said) => {
  await runProgram(["test", file, "--filter", text])
  expect(process.exitCode ?? 0).toBe(0)
  expect(out).toBe(`${file}\n${said}`)
})

it("says that it leaves nothing, and fails", async () => {
  await runProgram(["test", file, "--filter", "three"])
  expect(process.exitCode).toBe(4)
  expect(err).toContain("has `three` in its name, or in that of its file")
})
