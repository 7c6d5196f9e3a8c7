// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { WatchedFolders } from "./watched-folders.js"

const folder = mkdtempSync(join(tmpdir(), "watched-folders-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The number of watches that keep the process running. */
const watches = (): number => process.getActiveResourcesInfo().filter(name => name.startsWith("FSEvent")).length

it("keeps no process running that stops while it still reads what to watch", () => {
  const folders = new WatchedFolders(() => {}, undefined)
  folders.close()
  const before = watches()
  folders.add([folder])
  expect(watches()).toBe(before)
})
