// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { WatchedFolders } from "./watched-folders.js"

const folder = mkdtempSync(join(tmpdir(), "watched-folders-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What keeps the process for the sake of a folder. */
const watches = (): number => process.getActiveResourcesInfo().filter(name => name.startsWith("FSEvent")).length

it("keeps no process that was told to end while it was still reading what to watch", () => {
  const folders = new WatchedFolders(() => {}, undefined)
  folders.close()
  const before = watches()
  folders.add([folder])
  expect(watches()).toBe(before)
})
