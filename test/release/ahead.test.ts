// SPDX-License-Identifier: Apache-2.0
// Programs that start from code compiled ahead: what they do is what their scripts say, whatever lies beside them.

import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import vm from "node:vm"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

const VERSION = `${process.version}-${process.arch}`
const PROGRAM = `const { part } = require("./part.js")
const { sep } = require("node:path")
console.log(part(), __filename.split(sep).slice(-2).join("/"), process.execArgv.length)`
const PART = 'exports.part = () => "said by a part"'
const SAID = "said by a part bundle/program.js"
/** As bin/ahead.js does. */
const within = (source: string): string => `(function(exports,require,module,__filename,__dirname){${source}\n})`

describe("a program compiled ahead", () => {
  let home: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "merlon-ahead-"))
    write("package.json", '{ "type": "module" }')
    write("bundle/program.js", 'console.log("said by the bundle")')
    write(
      "bin/program.js",
      'import { startedAhead } from "./ahead.js"\nif (!startedAhead("program.js")) await import("../bundle/program.js")',
    )
    copyFileSync("packages/cli/bin/ahead.js", join(home, "bin/ahead.js"))
  })

  afterEach(() => rmSync(home, { recursive: true, force: true }))

  function write(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), content)
  }

  function ahead(name: string, source: string, code?: Buffer): void {
    write(`bundle/ahead/${VERSION}/${name}`, source)
    if (code !== undefined) write(`bundle/ahead/${VERSION}/${name}.code`, code)
  }

  const compiled = (source: string): Buffer => new vm.Script(within(source)).createCachedData()
  const run = (...flags: string[]): string =>
    execFileSync(process.execPath, [...flags, join(home, "bin/program.js")], { encoding: "utf8" }).trim()

  it("is read from the bundle where nothing was compiled for this version of Node", () => {
    write("bundle/ahead/v0.0.0-x64/program.js", PROGRAM)
    expect(run()).toBe("said by the bundle")
  })

  it("starts with its parts, and finds beside itself what lies in the bundle", () => {
    ahead("program.js", PROGRAM, compiled(PROGRAM))
    ahead("part.js", PART, compiled(PART))
    expect(run()).toBe(`${SAID} 0`)
  })

  it.each([
    ["that is missing", undefined],
    ["that is damaged", Buffer.from("nothing that V8 left")],
    ["that was cut", compiled(PROGRAM).subarray(0, 100)],
    ["of another script", compiled(PART)],
  ])("does without code %s", (_, code) => {
    ahead("program.js", PROGRAM, code)
    ahead("part.js", PART)
    expect(run()).toBe(`${SAID} 0`)
  })

  it("does without code that was left under other flags", () => {
    ahead("program.js", PROGRAM, compiled(PROGRAM))
    ahead("part.js", PART, compiled(PART))
    expect(run("--no-opt")).toBe(`${SAID} 1`)
  })

  it("runs under the flags that lie beside it, from its first line on", () => {
    const needsFlag = 'console.log(%HasFastProperties({}) ? "understood" : "odd")'
    ahead("program.js", needsFlag)
    expect(() => run()).toThrow(/SyntaxError/)
    ahead("flags", "--allow-natives-syntax\n--no-opt\n")
    expect(run()).toBe("understood")
  })

  it("says what is missing of it", () => {
    ahead("program.js", PROGRAM)
    expect(() => run()).toThrow(/part\.js is missing; run `npm run build`/)
  })
})
