// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"

let clone: string
beforeEach(() => {
  clone = realpathSync(mkdtempSync(join(tmpdir(), "an unbuilt clone-")))
  const cli = join(clone, "packages", "cli")
  mkdirSync(cli, { recursive: true })
  cpSync("packages/cli/bin", join(cli, "bin"), { recursive: true })
  writeFileSync(join(cli, "package.json"), '{ "type": "module" }')
})
afterEach(() => rmSync(clone, { recursive: true, force: true }))

it.each(["merlonctl", "merlond"])("%s in a clone without a build says what to type", name => {
  const program = join(clone, "packages", "cli", "bin", `${name}.js`)
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "status"], { encoding: "utf8" })
  expect([status, stdout, stderr]).toEqual([
    1,
    "",
    `${name}: not built yet; run \`npm ci && npm run build\` in ${clone}/ first\n`,
  ])
})
