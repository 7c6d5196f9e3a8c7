// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { customResourceDefinitions, meshNames } from "@merlon/policy"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { policyFiles } from "./policy-files.js"

const ROOT = fileURLToPath(new URL("../../", import.meta.url))
const NAMES = meshNames()
const FILES = policyFiles(NAMES)

describe("the generated files", () => {
  it.each([...FILES])("%s is up to date (`npm run generate`)", (path, text) => {
    expect(readFileSync(ROOT + path, "utf8")).toBe(text)
  })

  it.each(["deploy/crds", "docs/reference"])("are the only files in %s", folder => {
    const expected = [...FILES.keys()]
      .filter(path => path.startsWith(folder))
      .map(path => path.slice(folder.length + 1))
    // The error catalogue is generated from all packages' tables (errors-page.ts); the page of the answers API is
    // written manually.
    expect(
      readdirSync(ROOT + folder)
        .filter(name => name !== "errors.md" && name !== "answers-api.md")
        .sort(),
    ).toEqual(expected.sort())
  })

  it("hold the CRDs unchanged", () => {
    for (const crd of customResourceDefinitions(NAMES)) {
      const text = FILES.get(`deploy/crds/${crd.spec.names.plural}.yaml`) ?? ""
      expect(parse(text)).toEqual(JSON.parse(JSON.stringify(crd)))
      expect(text).not.toMatch(/[&*]a\d/)
    }
  })
})
