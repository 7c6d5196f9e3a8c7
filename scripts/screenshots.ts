// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of the console in docs/images, of a local mesh of its own with the samples, some policies and some
// calls: `npx tsx scripts/screenshots.ts`, after `npm run build`. Needs chromium.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium, type Page } from "playwright-core"
import { CHROMIUM, FLAGS } from "../test/console/support/chromium.js"
import { Merlonctl } from "../test/e2e/local/support/merlonctl.js"
import { ownPortsAndWaysIn } from "../test/e2e/local/support/own-ports.js"
import { SIZE, see, VIEWS } from "./screenshots/views.js"

const folder = mkdtempSync(join(tmpdir(), "screenshots-"))
const mesh = new Merlonctl(join(folder, "mesh"))

async function did(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await mesh.run(...args)
  if (code !== 0) throw new Error(`merlonctl ${args.join(" ")}: ${stderr}`)
  return stdout
}

async function fill(): Promise<void> {
  await did("apply", "-f", "samples/policies/only-consumer.yaml")
  for (let call = 1; call <= 8; call++) {
    await fetch(mesh.wayIn("web.app", `/items/${call}`))
    await fetch(mesh.wayIn("httpbin.foo", "/get"))
  }
  await did("exec", "consumer", "-n", "app", "--", "xclient", "--host", "web", "--path", "/", "20")
}

async function take(page: Page): Promise<void> {
  for (const view of VIEWS) {
    await see(page, view)
    await page.screenshot({ path: `docs/images/console-${view.name}.png` })
    console.log(`docs/images/console-${view.name}.png`)
  }
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS] })
try {
  await did("up", "--detach", ...(await ownPortsAndWaysIn()))
  await fill()
  const context = await browser.newContext({ viewport: SIZE, colorScheme: "light", locale: "en-GB", timezoneId: "UTC" })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  await page.goto((await did("dashboard", "--no-open")).trim())
  await page.getByRole("button", { name: "Sign out" }).waitFor()
  await take(page)
} finally {
  await browser.close()
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
}
