// SPDX-License-Identifier: Apache-2.0
// Takes the screenshots of the console in docs/images, from its own local mesh with the samples, a policy and some calls:
// `npx tsx scripts/screenshots.ts`, after `npm run build`. Needs chromium.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"
import { CHROMIUM, FLAGS } from "../test/console/support/chromium.js"
import { Merlonctl } from "../test/e2e/local/support/merlonctl.js"
import { ownPortsAndWaysIn } from "../test/e2e/local/support/own-ports.js"
import { startMesh, visitor } from "./screenshots/mesh.js"
import { pictureOf, see, VIEWS } from "./screenshots/views.js"

const folder = mkdtempSync(join(tmpdir(), "screenshots-"))
const mesh = new Merlonctl(join(folder, "mesh"))
const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS] })
try {
  await startMesh(mesh, await ownPortsAndWaysIn())
  const page = await visitor(browser, mesh)
  for (const view of VIEWS) {
    await see(page, view)
    await page.screenshot({ path: pictureOf(view) })
    console.log(pictureOf(view))
  }
} finally {
  await browser.close()
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
}
