// SPDX-License-Identifier: Apache-2.0
// One local mesh and one Chromium for all tests of the console: whoever tests takes a page of its own and writes to
// namespaces of its own. Nothing is waited for here, or the files of all other projects would wait too: `what-runs.ts` does.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BrowserServer, chromium } from "playwright-core"
import type { TestProject } from "vitest/node"
import { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { ownPortsAndWaysIn } from "../../e2e/local/support/own-ports.js"
import { CHROMIUM, FLAGS } from "./chromium.js"
import { tellWhatRuns } from "./what-runs.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The data folder of the mesh that the console's tests share. */
    readonly consoleMesh: string
    /** The file that says where its browser is, as soon as both run. */
    readonly consoleRuns: string
  }
}

export default function setUp(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "console-"))
  const runs = join(folder, "runs.json")
  const mesh = new Merlonctl(join(folder, "mesh"))
  project.provide("consoleMesh", mesh.data)
  project.provide("consoleRuns", runs)
  const starting = start(mesh).then(
    browser => {
      tellWhatRuns(runs, { browser: browser.wsEndpoint() })
      return browser
    },
    (error: unknown) => {
      tellWhatRuns(runs, { failure: String(error) })
      return undefined
    },
  )
  return async () => {
    await (await starting)?.close()
    await mesh.run("down")
    rmSync(folder, { recursive: true, force: true })
  }
}

async function start(mesh: Merlonctl): Promise<BrowserServer> {
  const { code, stderr } = await mesh.run(...["up", "--detach"], ...(await ownPortsAndWaysIn()))
  if (code !== 0) throw new Error(`the mesh for the console's tests did not start: ${stderr}`)
  return chromium.launchServer({ executablePath: CHROMIUM, args: [...FLAGS] })
}
