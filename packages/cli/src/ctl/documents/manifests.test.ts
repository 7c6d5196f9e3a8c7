// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { meshNames } from "@merlon/policy/mesh"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { readManifests } from "./manifests.js"
import { readSources } from "./sources.js"

const read = (text: string) => readManifests([{ name: "a.yaml", text }], meshNames(), "default")
const HEAD = "apiVersion: security.merlon.dev/v1alpha3\nkind: AuthorizationPolicy\nmetadata: {name: p}\n"

it("shows errors at their positions, in the order of the file", () => {
  const { manifests, errors } = read(`${HEAD}spec:\n  action: ALOW\n  ruels: []\n`)
  expect(manifests).toEqual([])
  expect(errors).toEqual([
    "a.yaml:5:11: spec.action: unsupported value `ALOW`; did you mean `ALLOW`?\n  5 |   action: ALOW\n    |           ^\n",
    "a.yaml:6:3: spec.ruels: unknown field `ruels`; did you mean `rules`?\n  6 |   ruels: []\n    |   ^\n",
  ])
})

it("points under wide characters and into long lines", () => {
  const wide =
    read(`${HEAD}spec: {rules: [{to: [{operation: {hosts: ["漢字"], prots: ["1"]}}]}]}\n`).errors[0]?.split("\n") ?? []
  expect(wide[2]?.indexOf("^")).toBe((wide[1]?.indexOf("prots") ?? 0) + 2)
  const long = read(`${HEAD}spec: {rules: [{to: [{operation: {hosts: ["${"h".repeat(500)}"], prots: ["1"]}}]}]}\n`)
    .errors[0]
  const [, line = "", mark = ""] = long?.split("\n") ?? []
  expect(line.slice(mark.indexOf("^"))).toMatch(/^prots/)
  expect(line.length).toBeLessThan(200)
})

it("removes terminal control characters of the file", () => {
  const { errors } = read(`${HEAD}spec: {"\\e[31mx": 1, "\u202Eevil": 2}\n`)
  for (const hidden of ["\u001b", "\u202e"]) expect(errors.join("")).not.toContain(hidden)
})

it("passes other kinds on unchanged, and reads on after an error", () => {
  const { manifests, errors } = read(
    `${HEAD}spec: {x: 1}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n---\n${HEAD}spec: {}\n`,
  )
  expect(errors).toHaveLength(1)
  expect(manifests.map(({ object, source }) => `${source} ${object.kind}`)).toEqual([
    "a.yaml ConfigMap",
    "a.yaml AuthorizationPolicy",
  ])
})

it("reports warnings without rejecting", () => {
  const { manifests, warnings } = read(
    "apiVersion: security.merlon.dev/v1alpha3\nkind: PeerAuthentication\nmetadata: {name: p}\n",
  )
  expect(manifests).toHaveLength(1)
  expect(warnings.join()).toContain("`spec` is missing")
})

describe("rejects", () => {
  it.each([
    ["no apiVersion", "kind: Pod\nmetadata: {name: a}\n", "no `apiVersion`"],
    ["no kind", "apiVersion: v1\nmetadata: {name: a}\n", "no `kind`"],
    ["no name", "apiVersion: v1\nkind: Pod\n", "no `metadata.name`"],
    ["a name to be made up", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", "generateName"],
    ["a namespace that is no text", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 7}\n", "is no text"],
    ["no YAML", "a: [1\n", "a.yaml:2:1"],
    ["a list", "- a\n", "no `apiVersion`"],
    [
      "a misspelt kind of ours",
      "apiVersion: security.merlon.dev/v1alpha3\nkind: PeerAuthentification\nmetadata: {name: a}\n",
      "did you mean `PeerAuthentication`",
    ],
  ])("%s", (_, text, message) => {
    const { manifests, errors } = read(text)
    expect(manifests).toEqual([])
    expect(errors.join()).toContain(message)
  })
})

describe("the argument of -f", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "merlonctl-"))
    mkdirSync(join(folder, "deep"))
    for (const file of ["b.yml", "a.yaml", "c.json", "d.txt", "deep/e.yaml"]) writeFileSync(join(folder, file), file)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const texts = async (paths: readonly string[], recursive = false) => {
    const placed = paths.map(path => (path === "-" ? path : join(folder, path)))
    return (await readSources(placed, recursive, async () => "input")).map(({ text }) => text)
  }

  it("is a file, a folder in order, a whole tree, or standard input", async () => {
    expect(await texts(["d.txt"])).toEqual(["d.txt"])
    expect(await texts(["."])).toEqual(["a.yaml", "b.yml", "c.json"])
    expect(await texts(["."], true)).toEqual(["a.yaml", "b.yml", "c.json", "deep/e.yaml"])
    expect(await texts(["-", "a.yaml"])).toEqual(["input", "a.yaml"])
  })

  it.each([
    ["nothing", [], /say what to read/],
    ["what is not there", ["none.yaml"], /there is no `.*none.yaml`/],
    ["standard input twice", ["-", "-"], /once/],
  ])("is rejected if it is %s", async (_, paths, message) => {
    await expect(texts(paths)).rejects.toThrow(message)
  })

  it("is rejected if it is empty or remote", async () => {
    mkdirSync(join(folder, "empty"))
    await expect(texts(["empty"])).rejects.toThrow(/`-R` looks into its folders/)
    await expect(readSources(["https://a.example/x.yaml"], false)).rejects.toThrow(/is not fetched/)
  })
})
