// SPDX-License-Identifier: Apache-2.0
// One local mesh and one Chromium for all tests of the console: each test uses its own page and writes to its own
// namespaces.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BrowserServer, chromium } from "playwright-core"
import type { TestProject } from "vitest/node"
import { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { ownAndIngressPorts } from "../../e2e/local/support/own-ports.js"
import { CHROMIUM, FLAGS } from "./chromium.js"
import { startWhenAsked } from "./what-runs.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The data folder of the mesh that the console's tests share. */
    readonly consoleMesh: string
    /** The folder in which workers request that mesh and the browser. */
    readonly consoleRuns: string
  }
}

export default function setUp(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "console-"))
  const mesh = new Merlonctl(join(folder, "mesh"))
  project.provide("consoleMesh", mesh.data)
  project.provide("consoleRuns", folder)
  const end = new AbortController()
  const browser = startWhenAsked(folder, "browser", end.signal, startBrowser)
  const running = startWhenAsked(folder, "mesh", end.signal, () => startMesh(mesh))
  return async () => {
    end.abort()
    await (await browser)?.close()
    await running
    await mesh.run("down")
    rmSync(folder, { recursive: true, force: true })
  }
}

async function startBrowser(): Promise<{ readonly started: BrowserServer; readonly where: string }> {
  const started = await chromium.launchServer({ executablePath: CHROMIUM, args: [...FLAGS] })
  return { started, where: started.wsEndpoint() }
}

async function startMesh(mesh: Merlonctl): Promise<{ readonly started: Merlonctl; readonly where: string }> {
  const { code, stderr } = await mesh.run(...["up", "--detach"], ...(await ownAndIngressPorts()))
  if (code !== 0) throw new Error(`the mesh for the console's tests did not start: ${stderr}`)
  return { started: mesh, where: mesh.data }
}
