// SPDX-License-Identifier: Apache-2.0
// What is compiled ahead is for tests, and runs under flags for processes that live for seconds. A mesh that somebody starts in
// a clone where tests have run must not.

import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

const VERSION = `${process.version}-${process.arch}`
const SAYS = 'console.log(process.env.COMPILED_AHEAD ?? "nothing")'
const hasTerminal = spawnSync("script", ["--version"]).status === 0

describe("a program that tests have compiled ahead", () => {
  let home: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "merlon-apart-"))
    write("package.json", '{ "type": "module" }')
    write("bundle/program.js", `console.log("the bundle, told");${SAYS}`)
    write(`bundle/ahead/${VERSION}/program.js`, `console.log("ahead, told");${SAYS}`)
    write(
      "bin/program.js",
      'import { startedAhead } from "./ahead.js"\nif (!startedAhead("program.js")) await import("../bundle/program.js")',
    )
    copyFileSync("packages/cli/bin/ahead.js", join(home, "bin/ahead.js"))
  })

  afterEach(() => rmSync(home, { recursive: true, force: true }))

  function write(path: string, content: string): void {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), content)
  }

  function said(file: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): string {
    const env = { PATH: process.env.PATH, ...more }
    return execFileSync(file, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] })
      .replace(/\s+/g, " ")
      .trim()
  }

  it("is what a test starts", () => {
    expect(said(process.execPath, [join(home, "bin/program.js")])).toBe("ahead, told nothing")
  })

  it("is not what `npm start` starts", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"))
    const [setting = "", program = ""] = String(scripts.start).split(" ").slice(-4)
    expect(program).toBe("node")
    const [name = "", value = ""] = setting.split("=")
    expect(said(process.execPath, [join(home, "bin/program.js")], { [name]: value })).toBe("the bundle, told no")
  })

  it.runIf(hasTerminal)("is not what a person starts at a terminal (needs script)", () => {
    const command = `${process.execPath} ${join(home, "bin/program.js")}`
    expect(said("script", ["-qec", command, "/dev/null"])).toBe("the bundle, told no")
  })
})
