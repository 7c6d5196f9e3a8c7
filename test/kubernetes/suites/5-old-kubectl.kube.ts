// SPDX-License-Identifier: Apache-2.0
// Runs docs/kubernetes.md again with a kubectl that is three years old (1.28, of 2023). Uninstalls the mesh first,
// because the page begins without it.

import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { imagesOfThisTree } from "../node/images.js"
import { program } from "../node/programs.js"
import { command, helm, kubectl } from "../support/cluster.js"
import { walkPage } from "../support/page.js"

const OLD = program("kubectl-old")
const isPossible = existsSync(OLD) && inject("image") === imagesOfThisTree().image

let folder = ""
const clear = async (): Promise<void> => {
  await helm("uninstall", "merlon", "-n", "merlon-system", "--ignore-not-found", "--wait")
  await kubectl("delete", "namespace", "foo", "app", "merlon-system", "--ignore-not-found")
}
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "merlon-kubectl-"))
  if (!isPossible) return
  symlinkSync(OLD, join(folder, "kubectl"))
  await clear()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  if (isPossible) await clear()
})

it.skipIf(!isPossible)("takes a reader with a kubectl of 2023 through the page", async () => {
  expect((await command(join(folder, "kubectl"), ["version", "--client"])).out).toContain("v1.28")
  await walkPage(folder)
})
