// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { encodeProxyResource } from "@merlon/xds"
import { afterEach, beforeEach, expect, it } from "vitest"
import { HeldResources } from "./held-resources.js"
import { keepState, keptState } from "./kept-state.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-kept-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const held = HeldResources.none.with({
  revision: 9,
  resources: [
    {
      name: "keys/x",
      version: "v1",
      value: encodeProxyResource({ kind: "keySet", keySet: { id: "x", jwks: '{"keys":[]}' } }),
    },
  ],
  removed: [],
})

it("gives back what was kept, readable by its owner only", () => {
  keepState(folder, { held, since: 7, credentials: { certificateChain: "chain", privateKey: "key" } })
  const kept = keptState(folder)
  expect(kept?.credentials).toEqual({ certificateChain: "chain", privateKey: "key" })
  expect(kept?.held.revision).toBe(9)
  expect(kept?.since).toBe(7)
  expect([...(kept?.held.versions ?? [])]).toEqual([["keys/x", "v1"]])
  expect(statSync(join(folder, "mesh-state.json")).mode & 0o777).toBe(0o600)
})

it("reads the key and certificate that release 0.1 kept as papers", () => {
  const papers = { certificateChain: "chain", privateKey: "key" }
  writeFileSync(join(folder, "mesh-state.json"), JSON.stringify({ version: 1, revision: 1, resources: [], papers }))
  expect(keptState(folder)?.credentials).toEqual(papers)
})

it("has nothing where nothing was kept", () => {
  expect(keptState(folder)).toBeUndefined()
})

it.each([
  ["cut short", '{"version":1,"revi'],
  ["of another version", '{"version":2}'],
  ["without resources", '{"version":1}'],
  [
    "with a resource that is none",
    '{"version":1,"revision":1,"resources":[{"name":"a","version":"1","value":"AAAA"}]}',
  ],
])("refuses a state %s", (_, text) => {
  writeFileSync(join(folder, "mesh-state.json"), text)
  expect(() => keptState(folder)).toThrow()
})
