// SPDX-License-Identifier: Apache-2.0
// Takes the screenshots of the console: ten views with the sample shop in both themes for the documentation, and those
// that a browser test compares. `npm run screenshots` takes them. `npm run screenshots -- --check` compares those of
// the documentation with the current pages, by pixels and with a tolerance. Needs chromium.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, chromium } from "playwright-core"
import { CHROMIUM, FLAGS } from "../test/console/support/chromium.js"
import { Merlonctl } from "../test/e2e/local/support/merlonctl.js"
import { ownAndIngressPorts } from "../test/e2e/local/support/own-ports.js"
import { differences } from "./screenshots/compare.js"
import { startMesh, startShop, visitor } from "./screenshots/mesh.js"
import { SHOP_VIEWS, shopPictureOf, THEMES } from "./screenshots/shop-views.js"
import { smallPng } from "./screenshots/small-png.js"
import { pictureOf, see, VIEWS } from "./screenshots/views.js"

const check = process.argv.includes("--check")

async function onMesh(
  start: (mesh: Merlonctl, flags: readonly string[]) => Promise<void>,
  look: (mesh: Merlonctl) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "screenshots-"))
  const mesh = new Merlonctl(join(folder, "mesh"))
  try {
    await start(mesh, await ownAndIngressPorts())
    await look(mesh)
  } finally {
    await mesh.run("down")
    rmSync(folder, { recursive: true, force: true })
  }
}

async function shopPictures(browser: Browser, mesh: Merlonctl): Promise<void> {
  for (const theme of THEMES) {
    const page = await visitor(browser, mesh, theme)
    for (const view of SHOP_VIEWS) {
      const path = shopPictureOf(view, theme)
      await see(page, view)
      if (!check) writeFileSync(path, smallPng(await page.screenshot()))
      const found = check ? await differences(page, readFileSync(path)) : []
      if (found.length > 0) process.exitCode = 1
      console.log([path, ...found].join("\n  "))
    }
    await page.context().close()
  }
}

async function comparedPictures(browser: Browser, mesh: Merlonctl): Promise<void> {
  const page = await visitor(browser, mesh)
  for (const view of VIEWS) {
    await see(page, view)
    writeFileSync(pictureOf(view), smallPng(await page.screenshot()))
    console.log(pictureOf(view))
  }
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS] })
try {
  if (!check) await onMesh(startMesh, mesh => comparedPictures(browser, mesh))
  await onMesh(startShop, mesh => shopPictures(browser, mesh))
} finally {
  await browser.close()
}
