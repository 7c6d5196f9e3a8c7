// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { confine } from "./confinement.js"
import { typed } from "./testing/typed.js"

const POLICY = `apiVersion: security.merlon.dev/v1alpha3
kind: PeerAuthentication
metadata: { name: strict, namespace: foo }
spec: { mtls: { mode: STRICT } }
`
const TEST = `apiVersion: security.merlon.dev/v1alpha3
kind: PolicyTest
policies: [../../outside/policy.yaml]
workloads: { web: { namespace: foo } }
cases: [{ name: plaintext, to: web, request: {}, expect: closed }]
`
const before = process.cwd()
let folder = ""
let root = ""

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "confinement-")))
  root = join(folder, "root")
  for (const name of ["root/inside", "root/tests", "root/linked", "outside"])
    mkdirSync(join(folder, name), { recursive: true })
  for (const name of ["root/inside/policy.yaml", "outside/policy.yaml", "secret.yaml"])
    writeFileSync(join(folder, name), POLICY)
  writeFileSync(join(root, "tests", "a.test.yaml"), TEST)
  symlinkSync("../../outside/policy.yaml", join(root, "linked", "policy.yaml"))
  symlinkSync("../outside", join(root, "folder"))
  const git = (...args: readonly string[]) => execFileSync("git", ["-C", folder, ...args], { stdio: "ignore" })
  git("init", "-q")
  git("add", "root/inside", "secret.yaml")
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")
  process.chdir(root)
})
afterEach(() => confine(undefined))
afterAll(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

const analyzed = async (path: string) => {
  confine({ roots: [root], cluster: false })
  return typed(["analyze", "-f", path, "--fail-on", "never"])
}

it.each([["inside"], ["inside/policy.yaml"], ["HEAD:inside"]])("reads `%s`", async path => {
  const { out, err } = await analyzed(path)
  expect([out, err]).toEqual([expect.stringContaining("read: 1 policy"), ""])
})

it.each([
  ["a file outside", "../outside/policy.yaml"],
  ["a file by its whole path", "/etc/hostname"],
  ["a file that does not exist", "/etc/there-is-none"],
  ["a linked file", "linked"],
  ["a linked folder", "folder"],
  ["a folder with links", "."],
  ["the way out and in again", "inside/../../outside"],
  ["a path of a revision", "HEAD:../secret.yaml"],
  ["a path from the top of a repository", "HEAD::(top)secret.yaml"],
])("does not read %s", async (_, path) => {
  const { code, out, err } = await analyzed(path)
  expect(`${out}${err}`).toMatch(/outside-roots|there is no `HEAD::/)
  expect([code, out]).toEqual([1, ""])
})

it("does not read policies that a policy test names", async () => {
  confine({ roots: [root], cluster: false })
  const { code, err } = await typed(["test", "tests"])
  expect([code, err]).toEqual([1, expect.stringContaining("error[outside-roots]")])
})

it("queries no cluster", async () => {
  confine({ roots: [root], cluster: false })
  const { code, err } = await typed(["explain", "3f1c9a2e7b604d58c1aa"])
  expect([code, err]).toEqual([1, expect.stringContaining("error[no-cluster]")])
})

it("reads everything without confinement", async () => {
  const { out } = await typed(["analyze", "-f", "folder", "--fail-on", "never"])
  expect(out).toContain("read: 1 policy")
})
