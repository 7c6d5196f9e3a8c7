// SPDX-License-Identifier: Apache-2.0
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { meshConfig } from "@merlon/policy/mesh"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { Configuration } from "./configuration.js"
import { loadState, saveState } from "./state.js"

const configuration: Configuration = {
  revision: 7,
  mesh: meshConfig(),
  workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "default", labels: {} },
  ports: [],
  policies: [],
  keySets: {},
  tls: { certificateChain: "chain", privateKey: "the key", trustBundle: "bundle" },
  revocations: { identities: [], serials: [] },
  probes: {},
}

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-state-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const temporary = () => join(folder, `last-good.json.${process.pid}.new`)

it("returns what was saved, readable by its owner only", () => {
  saveState(folder, configuration)
  expect(loadState(folder)).toMatchObject({ revision: 7, tls: { privateKey: "the key" } })
  expect(readdirSync(folder)).toEqual(["last-good.json"])
  expect(lstatSync(join(folder, "last-good.json")).mode & 0o777).toBe(0o600)
})

it("does not write the key into a temporary file that others can read", () => {
  writeFileSync(temporary(), "", { mode: 0o644 })
  saveState(folder, configuration)
  expect(lstatSync(join(folder, "last-good.json")).mode & 0o777).toBe(0o600)
})

it("does not follow a link in place of the temporary file", () => {
  const elsewhere = join(folder, "elsewhere")
  writeFileSync(elsewhere, "untouched")
  symlinkSync(elsewhere, temporary())
  saveState(folder, configuration)
  expect(readFileSync(elsewhere, "utf8")).toBe("untouched")
  expect(lstatSync(join(folder, "last-good.json")).isFile()).toBe(true)
})

it("rejects a configuration in which a character was changed", () => {
  saveState(folder, configuration)
  const file = join(folder, "last-good.json")
  writeFileSync(file, readFileSync(file, "utf8").replace('"revision":7', '"revision":8'))
  expect(() => loadState(folder)).toThrow("does not match its checksum")
})

it("removes the older configuration if the newer one cannot be saved", () => {
  saveState(folder, configuration)
  // As on a full disk: the old file can be removed, but no new one can be written.
  mkdirSync(temporary())
  writeFileSync(join(temporary(), "in the way"), "")
  expect(() => saveState(folder, { ...configuration, revision: 8 })).toThrow()
  expect(loadState(folder)).toBeUndefined()
})
