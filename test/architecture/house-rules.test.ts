// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { missingOptionals, unsuitedPeers } from "./lock-file.js"
import { files, readText, sourceFiles } from "./tree.js"

/** About 400 lines is the recommendation, and files should be split by idea. Only much longer files fail. */
const CEILING = 600
const INDEX_CEILING = 80

it(`keeps every file within ${CEILING} lines`, () => {
  const lines = (path: string): number => readText(path).split("\n").length - 1
  expect(sourceFiles().filter(path => lines(path) > CEILING)).toEqual([])
})

it(`describes a package, and each of its parts, in an index of at most ${INDEX_CEILING} lines`, () => {
  const indexes = files("packages/*/src/index.ts", "packages/*/src/*/public.ts")
  expect(indexes.length).toBeGreaterThan(7)
  const wanting = indexes.filter(path => {
    const [, second = "", ...rest] = readText(path).split("\n")
    return rest.length + 1 > INDEX_CEILING || !second.startsWith("//")
  })
  expect(wanting).toEqual([])
})

it("starts every file with its licence", () => {
  const bare = sourceFiles().filter(
    path =>
      !readText(path)
        .replace(/^#!.*\n/, "")
        .startsWith("// SPDX-License-Identifier: Apache-2.0\n"),
  )
  expect(bare).toEqual([])
})

it("names no package registry, so that the configured one is used", () => {
  // Written in two parts, so that this file does not match.
  const host = ["registry", "npmjs"].join(".")
  const naming = files("package-lock.json", "*.md", "*.json", ".npmrc", ".ci/run").filter(path =>
    readText(path).includes(host),
  )
  expect(naming).toEqual([])
})

it("pins every dependency exactly", () => {
  const loose = files("package.json", "packages/*/package.json").flatMap(path => {
    const manifest = JSON.parse(readText(path))
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    return all
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))
      .map(([name]) => `${path}: ${name}`)
  })
  expect(loose).toEqual([])
})

it("locks the packages of every platform (`npm run lock` fixes it)", () => {
  expect(missingOptionals(JSON.parse(readText("package-lock.json")))).toEqual([])
})

it("locks peers that `npm ci` of older Node versions accepts", () => {
  // To fix it, run `npm install --package-lock-only` with such an npm, then `npm run lock`.
  expect(unsuitedPeers(JSON.parse(readText("package-lock.json")))).toEqual([])
})

it("names in every test that may be skipped what it needs", () => {
  const silent = files("packages/*.test.ts", "samples/*.test.ts", "test/*.test.ts").flatMap(path =>
    [...readText(path).matchAll(/\.(?:skipIf|runIf)\([^\n]*\)(?:\.each[^(\n]*\([^)\n]*\))?\(\s*["'`](.*)/g)]
      .filter(([, name = ""]) => !/\(.*(needs|only) .*\)/.test(name))
      .map(([, name]) => `${path}: ${name}`),
  )
  expect(silent).toEqual([])
})
