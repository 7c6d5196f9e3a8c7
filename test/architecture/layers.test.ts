// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from "node:fs"
import { describe, expect, it, test } from "vitest"
import { breaches, FLOORS, importsOf, type Manifest, type SourceFile } from "./layers.js"
import { readText, sourceFiles } from "./tree.js"

const root = JSON.parse(readText("package.json"))

function manifestOf(path: string): Manifest {
  const home = /^packages\/[^/]+/.exec(path)?.[0] ?? ""
  const own = JSON.parse(readText(`${home}/package.json`))
  return {
    dependencies: Object.keys(own.dependencies ?? {}),
    devDependencies: [...Object.keys(own.devDependencies ?? {}), ...Object.keys(root.devDependencies ?? {})],
  }
}

it("finds no violation in the repository", () => {
  const files = sourceFiles().filter(path => path.startsWith("packages/"))
  expect(files.length).toBeGreaterThan(50)
  const found = files.flatMap(path => breaches({ path, text: readText(path) }, manifestOf(path)))
  expect(found).toEqual([])
})

describe("finds a violation when", () => {
  const manifest: Manifest = { dependencies: ["yaml", "@merlon/policy"], devDependencies: ["fast-check"] }
  const of = (path: string, text: string): SourceFile => ({ path, text })
  test.each([
    [
      "a package imports upward",
      of("packages/policy/src/a.ts", 'import { x } from "@merlon/xserver"'),
      "must not import",
    ],
    [
      "a package uses something that another does not export",
      of("packages/xserver/src/a.ts", 'import { x } from "@merlon/policy/src/judge.js"'),
      "is no part that",
    ],
    [
      "a program imports the whole policy library",
      of("packages/xserver/src/a.ts", 'import { judge } from "@merlon/policy"'),
      "import a part",
    ],
    [
      "a path leaves its package",
      of("packages/xserver/src/a.ts", 'export * from "../../policy/src/judge.js"'),
      "leaves its package",
    ],
    [
      "a dependency is not declared",
      of("packages/policy/src/a.ts", 'import x from "lodash"'),
      "not in the package's package.json",
    ],
    [
      "a dependency of tests is used in other code",
      of("packages/policy/src/a.ts", 'import fc from "fast-check"'),
      "not in the package's",
    ],
    ["an import is dynamic", of("packages/cluster/src/a.ts", 'await import("@merlon/policy")'), "must not import"],
    ["a package is unknown", of("packages/attic/src/a.ts", ""), "has no floor"],
  ])("%s", (_, file, expected) => {
    expect(breaches(file, manifest).join()).toContain(expected)
  })

  it("an import spans several lines or is only for its side effects", () => {
    expect(importsOf('import {\n  a,\n  b,\n} from "x"\nimport "y"\nexport type { C } from "z"')).toEqual([
      "x",
      "y",
      "z",
    ])
  })
})

it("lists the dependencies of every package, and every project reference follows them", () => {
  for (const [name, below] of Object.entries(FLOORS)) {
    const file = `packages/${name}/tsconfig.json`
    if (!existsSync(file)) continue
    const references: { path: string }[] = JSON.parse(readFileSync(file, "utf8")).references ?? []
    for (const { path } of references) expect(below, file).toContain(path.replace("../", ""))
  }
})
