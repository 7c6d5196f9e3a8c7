// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defaultValues } from "@merlon/control/install"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { chartFiles } from "./chart.js"

const ROOT = fileURLToPath(new URL("../../", import.meta.url))
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"))
const FILES = chartFiles(version)

describe("the chart", () => {
  it.each([...FILES])("%s is up to date (`npm run generate`)", (path, text) => {
    expect(readFileSync(ROOT + path, "utf8")).toBe(text)
  })

  it("has no other files", () => {
    const chart = "deploy/helm/merlon"
    const there = readdirSync(ROOT + chart, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
    expect(there).toHaveLength(FILES.size)
  })

  it("documents every value and leaves no placeholder", () => {
    expect(parse(FILES.get("deploy/helm/merlon/values.yaml") ?? "")).toEqual(defaultValues(version))
    for (const [path, text] of FILES) expect(text, path).not.toMatch(/⟦|zz(mesh|domain)zz/)
  })

  it("names metrics after the mesh", () => {
    expect(FILES.get("deploy/helm/merlon/templates/prometheusrule.yaml")).toContain(
      '{{ .Values.mesh | replace "-" "_" }}_control_leader',
    )
  })
})
