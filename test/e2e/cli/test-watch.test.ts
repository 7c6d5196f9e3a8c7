// SPDX-License-Identifier: Apache-2.0
// `merlonctl test --watch` as a policy author uses it: a real process, and files that change while it runs.

import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it, vi } from "vitest"

const POLL = { timeout: 90_000, interval: 100 }

const folder = mkdtempSync(join(tmpdir(), "watched-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const policy = (method: string): string => `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: readers, namespace: shop }
spec: { rules: [{ to: [{ operation: { methods: [${method}] } }] }] }
`
const test = (name: string, expected: string, policies = "../readers.yaml"): string => `kind: PolicyTest
metadata: { name: ${name} }
policies: [${policies}]
workloads: { shop: { namespace: shop } }
cases: [{ name: ${name}, request: {}, expect: ${expected} }]
`

const tests = join(folder, "tests")
const junit = join(tests, "results.xml")

it("runs again on changes, survives unreadable files, and stops on a signal", async () => {
  writeFileSync(join(folder, "readers.yaml"), policy("nothing: was"))
  mkdirSync(tests)
  writeFileSync(join(tests, "readers.test.yaml"), test("people read", "allow"))
  const child = spawn(process.execPath, ["packages/cli/bin/merlonctl.js", "test", tests, "--watch", "--junit", junit], {
    stdio: ["ignore", "pipe", "pipe"],
  })
  let [out, received] = ["", ""]
  child.stdout.on("data", chunk => {
    out += chunk
  })
  child.stderr.on("data", chunk => {
    received += chunk
  })
  const ended = new Promise<number | null>(resolve => child.once("close", resolve))
  const waits = (): number => received.split("waiting for changes").length - 1
  /** Waits for a complete run after `before` earlier ones. */
  const run = (before: number, seen: RegExp): Promise<void> =>
    vi.waitFor(() => {
      expect(`${out}\n${received}`).toMatch(seen)
      expect(waits()).toBeGreaterThan(before)
    }, POLL)

  // The file is watched although it could not be read yet.
  await run(0, /readers\.yaml.*spec\.rules\[0\]/)
  let before = waits()
  writeFileSync(join(folder, "readers.yaml"), policy("GET"))
  await run(before, /✓ people read(?:.|\n)*1 passed, 0 failed/)

  before = waits()
  writeFileSync(join(folder, "readers.yaml"), policy("PUT"))
  await run(before, /✗ people read(?:.|\n)*0 passed, 1 failed/)

  // As editors save: a new file replaces the old one.
  before = waits()
  writeFileSync(join(folder, "new"), policy("nothing: is"))
  renameSync(join(folder, "new"), join(folder, "readers.yaml"))
  await vi.waitFor(() => expect(received.split("nothing: is").length).toBeGreaterThan(1), POLL)

  writeFileSync(join(folder, "readers.yaml"), policy("GET"))
  mkdirSync(join(tests, "deep"))
  writeFileSync(join(tests, "deep", "more.test.yaml"), test("people read here too", "allow", "../../readers.yaml"))
  await vi.waitFor(() => expect(out).toMatch(/✓ people read here too(?:.|\n)*2 passed, 0 failed/), POLL)

  await vi.waitFor(() => expect(readFileSync(junit, "utf8")).toContain("people read here too"), POLL)

  child.kill("SIGINT")
  expect(await ended).toBe(0)
})
