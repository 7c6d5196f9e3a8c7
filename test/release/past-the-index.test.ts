// SPDX-License-Identifier: Apache-2.0
// Imports are led past the indexes of packages by the form of their lines. Where a line may mean something else, or an index does
// more than to name, a bundle would be another program than its source: then there is none.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { redirected } from "../../scripts/release/past-the-index.js"

describe("imports that are led past an index", () => {
  let packages: string

  beforeEach(() => {
    packages = mkdtempSync(join(tmpdir(), "merlon-index-"))
    write(
      "one/src/index.ts",
      '// What there is.\nexport { made } from "./made.js"\nexport type { Kind } from "./made.js"\n',
    )
    write("one/src/made.ts", "export const made = 1\nexport type Kind = 1\n")
  })

  afterEach(() => rmSync(packages, { recursive: true }))

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(packages, path)), { recursive: true })
    writeFileSync(join(packages, path), text)
  }

  const led = (text: string): string => redirected(text, packages)
  const file = (): string => JSON.stringify(join(packages, "one/src/made.ts"))

  it.each([
    ["after comments and others", '#!/usr/bin/env node\n// "why"\n/* "so" */\nimport x from "y"\nimport "z";\n'],
    ["after one of types", 'import type { Kind } from "@merlon/one"\n'],
    ["first", ""],
  ])("are found %s", (_, before) => {
    const code = '\nawait import("@merlon/one")\nconst text = `of "@merlon/one"`\n'
    const expected = `${before}import { made as made } from ${file()}${code}`
    expect(led(`${before}import { made } from "@merlon/one"${code}`)).toBe(expected)
  })

  it.each([
    [
      "what may be a text",
      'const text = `\nimport { made } from "@merlon/one"\n`\n',
      /comes after code, and may be a text/,
    ],
    ["what comes after code", 'run()\nimport { made } from "@merlon/one"\n', /comes after code/],
    ["all of a package under one name", 'import * as one from "@merlon/one"\n', /must have the form/],
    ["a package for what it does", 'import "@merlon/one"\n', /must have the form/],
    ["a part of a package", 'import { made } from "@merlon/one/made"\n', /must have the form/],
    ["other quotes", "import { made } from '@merlon/one'\n", /must have the form/],
    ["what is not at the beginning of its line", '  import { made } from "@merlon/one"\n', /must have the form/],
    ["what is handed on", 'export { made } from "@merlon/one"\n', /(must have the form|comes after code)/],
    ["everything that is handed on", 'export * from "@merlon/one"\n', /(must have the form|comes after code)/],
    ["what has a comment among its names", 'import {\n  // the one\n  made,\n} from "@merlon/one"\n', /exports no/],
  ])("are refused of %s", (_, text, why) => {
    expect(() => led(text)).toThrow(why)
  })

  it.each([
    ["runs something", 'import "./effects.js"\nexport { made } from "./made.js"\n'],
    ["sets something", 'export { made } from "./made.js"\nprocess.title = "x"\n'],
    ["makes something of its own", 'export { made } from "./made.js"\nexport const more = 2\n'],
  ])("are refused where the index %s", (_, text) => {
    write("one/src/index.ts", text)
    expect(() => led('import { made } from "@merlon/one"\n')).toThrow(/may do nothing beside that/)
  })

  it("are refused where a file on the way does something", () => {
    write("one/src/index.ts", 'export * from "./public.js"\n')
    write("one/src/public.ts", 'export { made } from "./made.js"\nregister()\n')
    expect(() => led('import { made } from "@merlon/one"\n')).toThrow(/public\.ts exports what is another's/)
  })
})
