// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { missingOptionals } from "./lock-file.js"
import { files, readText, sourceFiles } from "./tree.js"

const CEILING = 500

it(`keeps every file within ${CEILING} lines`, () => {
  const long = sourceFiles().filter(path => readText(path).split("\n").length - 1 > CEILING)
  expect(long).toEqual([])
})

it("begins every file with its licence", () => {
  const bare = sourceFiles().filter(
    path =>
      !readText(path)
        .replace(/^#!.*\n/, "")
        .startsWith("// SPDX-License-Identifier: Apache-2.0\n"),
  )
  expect(bare).toEqual([])
})

it("names no package registry, so that the one configured is used", () => {
  // Spelled in two parts, so that this file does not find itself.
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

it("locks the packages of every platform, or `npm ci` would refuse the lock (`npm run lock` mends it)", () => {
  expect(missingOptionals(JSON.parse(readText("package-lock.json")))).toEqual([])
})
