// SPDX-License-Identifier: Apache-2.0
// Compares pages with the screenshots of the documentation, on the same kind of mesh, and checks that broken pages differ.
// Fonts ship with the page, so every machine draws the same letters.

import { readFileSync } from "node:fs"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, test } from "vitest"
import { differences } from "../../../scripts/screenshots/compare.js"
import { visitor } from "../../../scripts/screenshots/mesh.js"
import { pictureOf, SIZE, see, VIEWS, type View } from "../../../scripts/screenshots/views.js"
import type { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { connect } from "../support/visit.js"

const PNG = "89504e470d0a1a0a"
const named = (name: string): View => {
  const view = VIEWS.find(one => one.name === name)
  if (view === undefined) throw new Error(`there is no view ${name}`)
  return view
}
const SOME = [named("overview"), named("map")]

const styled = (isOn: boolean): string => `for (const sheet of document.styleSheets) sheet.disabled = ${!isOn}`

/** Hides the content below the heading of a panel but keeps its space, or shows it again. */
const emptied = (panel: string, isOn: boolean): string => `(() => {
  for (const part of document.querySelectorAll("section")) {
    const name = part.getAttribute("aria-label") ?? document.getElementById(part.getAttribute("aria-labelledby"))?.textContent
    if (name !== ${JSON.stringify(panel)}) continue
    for (const child of part.children) if (child.tagName !== "H2") child.style.visibility = "${isOn ? "hidden" : ""}"
  }
})()`

export function pictures(mesh: Merlonctl): void {
  let browser: Browser
  let page: Page
  const differing = (view: View): Promise<readonly string[]> => differences(page, readFileSync(pictureOf(view)))

  beforeAll(async () => {
    browser = await connect()
    page = await visitor(browser, mesh)
  })

  afterAll(() => browser.close())

  test.each(VIEWS)("$name matches its screenshot", async view => {
    const picture = readFileSync(pictureOf(view))
    expect(picture.subarray(0, 8).toString("hex")).toBe(PNG)
    expect({ width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) }).toEqual(SIZE)
    await see(page, view)
    // On a busy machine the last chart may be drawn late.
    await expect.poll(() => differing(view)).toEqual([])
  })

  describe("detects", () => {
    it("a page without its stylesheet", async () => {
      for (const view of SOME) {
        await see(page, view)
        await page.evaluate<void>(styled(false))
        expect(await differing(view), view.name).not.toEqual([])
        await page.evaluate<void>(styled(true))
      }
    })

    it("the wrong theme", async () => {
      await page.emulateMedia({ colorScheme: "dark" })
      for (const view of SOME) {
        await see(page, view)
        expect(await differing(view), view.name).not.toEqual([])
      }
      await page.emulateMedia({ colorScheme: "light" })
    })

    it.each([
      ["overview", "Figures"],
      ["overview", "Requests per minute"],
      ["overview", "Needs attention"],
      ["traffic", "Decision"],
      ["access", "Callers by workload"],
    ])("an empty panel of %s: %s", async (name, panel) => {
      await see(page, named(name))
      await page.getByRole("region", { name: panel, exact: true }).waitFor()
      await page.evaluate<void>(emptied(panel, true))
      expect(await differing(named(name))).toContainEqual(expect.stringContaining(panel))
      await page.evaluate<void>(emptied(panel, false))
    })
  })
}
