// SPDX-License-Identifier: Apache-2.0
// The hooks of .pre-commit-hooks.yaml: their commands as pre-commit runs them, and pre-commit itself if it is
// installed.

import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { parse } from "yaml"

interface Hook {
  readonly id: string
  readonly entry: string
  readonly args: readonly string[]
}

const FILE = ".pre-commit-hooks.yaml"
const hooks: readonly Hook[] = parse(readFileSync(FILE, "utf8"))
let folder = ""
let env: NodeJS.ProcessEnv = {}

const at = (...path: readonly string[]): string => join(folder, ...path)
const git = (place: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", at(place), ...args], {
    encoding: "utf8",
  })

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-hooks-"))
  for (const name of ["bin", "good", "bad", "hooks"]) mkdirSync(at(name))
  writeFileSync(
    at("bin", "merlonctl"),
    `#!/bin/sh\nexec "${process.execPath}" "${resolve("packages/cli/bin/merlonctl.js")}" "$@"\n`,
  )
  chmodSync(at("bin", "merlonctl"), 0o755)
  env = { ...process.env, PATH: `${at("bin")}:${process.env.PATH ?? ""}`, PRE_COMMIT_HOME: at("cache") }
  for (const name of ["good", "bad"]) {
    for (const file of ["only-consumer.yaml", "peer-strict.yaml", "only-consumer.test.yaml"])
      cpSync(`samples/policies/${file}`, at(name, "policies", file))
  }
  // A rule without effect, and a test with another expectation than the policy.
  writeFileSync(
    at("bad", "policies", "only-consumer.yaml"),
    readFileSync("samples/policies/only-consumer.yaml", "utf8").replace("ALLOW", "DENY"),
  )
  cpSync("samples/answers/dead.yaml", at("bad", "policies", "dead.yaml"))
  cpSync("samples/manifests/httpbin.yaml", at("bad", "policies", "httpbin.yaml"))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** As pre-commit runs a hook that takes no file names. */
const run = ({ entry, args }: Hook, place: string) =>
  spawnSync("sh", ["-c", `${entry} ${args.join(" ")}`], { cwd: at(place), env, encoding: "utf8" })

it.each(hooks.map(hook => [hook.id, hook] as const))("%s passes good policies and fails bad ones", (_, hook) => {
  const good = run(hook, "good")
  expect(good.status, good.stdout + good.stderr).toBe(0)
  expect(run(hook, "bad").status).not.toBe(0)
})

it("pre-commit itself runs the hooks (needs pre-commit)", { tags: ["needs/pre-commit"] }, () => {
  cpSync(FILE, at("hooks", FILE))
  for (const place of ["hooks", "good", "bad"]) {
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
  }
  const rev = git("hooks", "rev-parse", "HEAD").trim()
  const config = { repos: [{ repo: at("hooks"), rev, hooks: hooks.map(({ id }) => ({ id })) }] }
  const status = (place: string): number | null => {
    writeFileSync(at(place, ".pre-commit-config.yaml"), JSON.stringify(config))
    git(place, "add", ".")
    return spawnSync("pre-commit", ["run", "--all-files"], { cwd: at(place), env }).status
  }
  expect([status("good"), status("bad")]).toEqual([0, 1])
})
