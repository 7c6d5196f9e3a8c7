// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { circles } from "./circles.js"
import { readText, sourceFiles } from "./tree.js"

it("finds no import cycle in the repository", () => {
  const files = sourceFiles().map(path => ({ path, text: readText(path) }))
  expect(circles(files)).toEqual([])
})

describe("finds cycles when", () => {
  const cyclesIn = (imports: Readonly<Record<string, readonly string[]>>) =>
    circles(
      Object.entries(imports).map(([name, targets]) => ({
        path: `p/${name}.ts`,
        text: targets.map(target => `import { x } from "./${target}.js"`).join("\n"),
      })),
    ).map(group => group.map(path => path.slice(2, -3)).join(" "))

  test.each([
    ["two files import each other", { a: ["b"], b: ["a"] }, ["a b"]],
    ["a path of imports leads back over other files", { a: ["b"], b: ["c"], c: ["d"], d: ["b"] }, ["b c d"]],
    ["a file imports itself", { a: ["a"] }, ["a"]],
    ["there are several cycles", { a: ["b"], b: ["a", "c"], c: ["d", "e"], d: ["c"], e: [] }, ["a b", "c d"]],
    ["two paths lead to one file, and none leads back", { a: ["b", "c"], b: ["d"], c: ["d"], d: [] }, []],
  ])("%s", (_, imports, expected) => {
    expect(cyclesIn(imports)).toEqual(expected)
  })

  it("a .tsx file is part of the cycle", () => {
    const a = { path: "p/a.tsx", text: 'import { b } from "./b.js"' }
    const b = { path: "p/b.ts", text: 'import { a } from "./a.js"' }
    expect(circles([a, b])).toEqual([["p/a.tsx", "p/b.ts"]])
  })

  it("only a type is imported", () => {
    const a = { path: "p/a.ts", text: 'import type { B } from "./b.js"' }
    const b = { path: "p/b.ts", text: 'export const b = async () => import("./a.js")' }
    expect(circles([a, b])).toEqual([["p/a.ts", "p/b.ts"]])
  })
})
