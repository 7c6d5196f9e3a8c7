// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { encodeProxyResource, type ProxyResource, resourceVersion } from "@merlon/xds"
import { writeCheckedFile } from "@merlon/xds/runtime"
import { afterEach, beforeEach, expect, it } from "vitest"
import { HeldResources } from "./held-resources.js"
import { keepState, removeState, savedCredentials, savedState } from "./saved-state.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-kept-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const keys: ProxyResource = { kind: "keySet", keySet: { id: "x", jwks: '{"keys":[]}' } }
const held = HeldResources.none.with({
  revision: 9,
  resources: [{ name: "keys/x", version: resourceVersion(keys), value: encodeProxyResource(keys) }],
  removed: [],
})
const credentials = { certificateChain: "chain", privateKey: "key" }
const file = () => join(folder, "mesh-state.json")

it("returns what was kept, readable by its owner only", () => {
  keepState(folder, { held, since: 7, credentials })
  const kept = savedState(folder)
  expect(savedCredentials(folder)).toEqual(credentials)
  expect(kept?.held.revision).toBe(9)
  expect(kept?.since).toBe(7)
  expect([...(kept?.held.versions ?? [])]).toEqual([["keys/x", resourceVersion(keys)]])
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
})

it("rejects a state in which any character was changed", () => {
  keepState(folder, { held, since: 7, credentials: undefined })
  const text = readFileSync(file(), "latin1")
  for (let at = 0; at < text.length; at++) {
    writeFileSync(file(), `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`)
    expect(() => savedState(folder), `character ${at}`).toThrow()
  }
})

it("computes versions from the contents, whatever the file says", () => {
  const forged: ProxyResource = { kind: "keySet", keySet: { id: "x", jwks: '{"keys":[{}]}' } }
  const value = Buffer.from(encodeProxyResource(forged)).toString("base64")
  const resources = [{ name: "keys/x", version: resourceVersion(keys), value }]
  writeCheckedFile(folder, "mesh-state.json", JSON.stringify({ version: 2, revision: 9, since: 7, resources }))
  expect(savedState(folder)?.held.versions.get("keys/x")).toBe(resourceVersion(forged))
})

it.each([
  ["credentials", { credentials }],
  ["papers", { papers: credentials }],
])("uses only the %s of a state without checksum", (_, fields) => {
  writeFileSync(file(), JSON.stringify({ version: 1, revision: 1, resources: [], ...fields }))
  expect(savedState(folder)).toBeUndefined()
  expect(savedCredentials(folder)).toEqual(credentials)
  // This file may be the only place that has them.
  removeState(folder)
  expect(savedCredentials(folder)).toEqual(credentials)
})

it("removes the state and keeps the credentials", () => {
  keepState(folder, { held, since: 7, credentials })
  removeState(folder)
  expect(savedState(folder)).toBeUndefined()
  expect(savedCredentials(folder)).toEqual(credentials)
})

it("throws if the state cannot be removed", () => {
  mkdirSync(file())
  expect(() => removeState(folder)).toThrow()
})

it("returns nothing if nothing was kept", () => {
  expect(savedState(folder)).toBeUndefined()
})

it.each([
  ["cut short", '{"version":2,"revi'],
  ["of another version", '{"version":3}'],
  ["without resources", '{"version":2}'],
  ["with an invalid resource", '{"version":2,"revision":1,"resources":[{"name":"a","value":"AAAA"}]}'],
])("rejects a state %s", (_, text) => {
  writeCheckedFile(folder, "mesh-state.json", text)
  expect(() => savedState(folder)).toThrow()
})
