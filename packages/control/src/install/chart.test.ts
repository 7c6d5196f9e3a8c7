// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { chartFiles } from "./chart.js"
import { installedObjects, installManifests } from "./control-plane-manifests.js"
import { DASHBOARDS } from "./dashboards.js"
import { defaultValues, readValues } from "./values.js"

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url))
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

  it("documents every value and leaves no place unfilled", () => {
    expect(parse(FILES.get("deploy/helm/merlon/values.yaml") ?? "")).toEqual(defaultValues(version))
    for (const [path, text] of FILES) expect(text, path).not.toMatch(/⟦|zz(mesh|domain)zz/)
  })
})

describe("what is installed", () => {
  const kinds = (given: object) => installManifests(readValues(version, given)).map(({ kind }) => kind)

  it("ends with the webhooks, so that their removal comes first", () => {
    expect(kinds({}).slice(-2)).toEqual(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
  })

  it("follows the values", () => {
    expect(kinds({ networkPolicy: { enabled: false } })).not.toContain("NetworkPolicy")
    expect(kinds({ serviceMonitor: { enabled: true } })).toContain("ServiceMonitor")
    for (const capture of ["redirect", "service"]) {
      expect(kinds({ capture }).filter(kind => kind === "MutatingWebhookConfiguration")).toHaveLength(1)
    }
  })

  it("runs as nobody in particular, with nothing it could write and no privilege", () => {
    const text = JSON.stringify(
      installedObjects(defaultValues(version)).find(({ object }) => object.kind === "Deployment"),
    )
    for (const part of ['"runAsNonRoot":true', '"readOnlyRootFilesystem":true', '"drop":["ALL"]', '"RuntimeDefault"']) {
      expect(text).toContain(part)
    }
  })

  it("draws only metrics that the programs have", () => {
    const sources = ["control", "xserver"]
      .map(name => readFileSync(`${ROOT}packages/${name}/src/observe/metrics.ts`, "utf8"))
      .join("\n")
    const drawn = JSON.stringify(DASHBOARDS).match(/merlon_(?:control|xserver)_[a-z_]+/g) ?? []
    const missing = drawn
      .map(name => name.replace(/^merlon_(control|xserver)_/, "").replace(/_bucket$/, ""))
      .filter(name => !sources.includes(`${name}"`) && !sources.includes(`}${name}\``))
    expect(missing).toEqual([])
  })
})
