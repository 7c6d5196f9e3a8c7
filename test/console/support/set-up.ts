// SPDX-License-Identifier: Apache-2.0
// One local mesh and one Chromium for all tests of the console: whoever tests takes a page of its own and writes to
// namespaces of its own.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"
import type { TestProject } from "vitest/node"
import { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { ownPortsAndWaysIn } from "../../e2e/local/support/own-ports.js"
import { CHROMIUM, FLAGS } from "./chromium.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The data folder of the mesh that the console's tests share. */
    readonly consoleMesh: string
    /** Where its browser is. */
    readonly consoleBrowser: string
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "console-"))
  const mesh = new Merlonctl(join(folder, "mesh"))
  const { code, stderr } = await mesh.run(...["up", "--detach"], ...(await ownPortsAndWaysIn()))
  if (code !== 0) throw new Error(`the mesh for the console's tests did not start: ${stderr}`)
  const browser = await chromium.launchServer({ executablePath: CHROMIUM, args: [...FLAGS] })
  project.provide("consoleMesh", mesh.data)
  project.provide("consoleBrowser", browser.wsEndpoint())
  return async () => {
    await browser.close()
    await mesh.run("down")
    rmSync(folder, { recursive: true, force: true })
  }
}
