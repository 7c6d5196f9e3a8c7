// SPDX-License-Identifier: Apache-2.0
// `merlonctl test --filter` on the command line.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
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

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-filter-"))
  file = join(folder, "own.test.yaml")
  writeFileSync(file, TEST)
})
afterAll(() => rmSync(folder, { recursive: true }))

it.each([
  ["one", "  ✓ one\n\n1 passed, 0 failed\nread: 1 policy, 1 workload\n"],
  ["nobody", "  ✓ never: nobody writes (shop/shop)\n\n1 passed, 0 failed\nread: 1 policy, 1 workload\n"],
])("runs the cases and invariants with `%s` alone, and says nothing of what they leave out", async (text, received) => {
  expect(await typed(["test", file, "--filter", text])).toMatchObject({ code: 0, out: `${file}\n${received}` })
})

it("fails if it matches nothing", async () => {
  const { code, err } = await typed(["test", file, "--filter", "three"])
  expect(code).toBe(4)
  expect(err).toContain("has `three` in its name, or in that of its file")
})
