// SPDX-License-Identifier: Apache-2.0
// Every page for everybody: by keyboard, by ear, in the dark, on a phone and on a wall.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, it, test } from "vitest"
import { address, asOwner, complaints } from "./support/visit.js"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const PAGES = [
  ["Overview", "/", "Overview of merlon"],
  ["Decisions", "/decisions", "Decisions"],
  ["Workloads", "/workloads", "Workloads"],
  ["a workload", "/workloads/app/web-v1-1", "Workload app/web-v1-1"],
  ["Policies", "/policies", "Policies"],
  ["a new policy", "/policies/new?template=invariant", "New policy"],
  ["Who may call whom", "/access", "Who may call whom"],
  ["Plaintext", "/plaintext", "Plaintext"],
  ["Graph", "/graph", "Graph"],
  ["Try it", "/try?workload=app/web-v1-1", "Try a request"],
  ["nowhere", "/nowhere", "There is no such page"],
] as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

async function visit(page: Page, place: string, heading: string): Promise<void> {
  await page.goto(address(`/#${place}`))
  await page.getByRole("heading", { level: 1, name: heading }).waitFor()
  await page.waitForLoadState("networkidle").catch(() => undefined)
  await expect.poll(() => page.getByText("Loading…").count()).toBe(0)
}

/** What axe finds, as `rule: element`. */
async function findings(page: Page): Promise<readonly string[]> {
  if (await page.evaluate<boolean>("!('axe' in window)")) await page.evaluate(AXE)
  const violations = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)")
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  )
}

describe("every page for everybody:", () => {
  let page: Page
  beforeAll(async () => {
    page = await asOwner()
  })

  test.each(PAGES)(
    "%s, in which axe finds nothing and which is no wider than its window",
    async (_, place, heading) => {
      await visit(page, place, heading)
      const found: Record<string, readonly string[]> = {}
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
        found[colorScheme] = await findings(page)
      }
      expect(found).toEqual({ light: [], dark: [] })
      for (const width of [320, 2_560]) {
        await page.setViewportSize({ width, height: 800 })
        await expect.poll(() => page.evaluate<number>("window.innerWidth")).toBe(width)
        const over = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth")
        expect(over, `pixels more than the ${width} there are`).toBeLessThanOrEqual(0)
      }
      await page.setViewportSize({ width: 1_280, height: 720 })
    },
  )
})

it("leads to every page by keyboard alone, and begins each at its beginning", async () => {
  const page = await asOwner()
  await page.getByRole("heading", { level: 1 }).waitFor()
  await page.keyboard.press("Tab")
  expect(await page.evaluate<string>("document.activeElement.textContent")).toBe("Skip to content")
  await page.keyboard.press("Enter")
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("main")
  const links = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents()
  expect(links.length).toBeGreaterThan(7)
  for (const link of links) {
    await page.getByRole("link", { name: link, exact: true }).focus()
    await page.keyboard.press("Enter")
    await page.locator(`nav a[aria-current=page]`, { hasText: link }).waitFor()
    if (link !== "Overview") {
      await expect.poll(() => page.evaluate<string>("document.activeElement.id")).toBe("main")
    }
  }
})

it("says that the control plane does not answer, and when it does again", async () => {
  const page = await asOwner("/policies")
  await page.getByRole("heading", { name: "AuthorizationPolicy" }).waitFor()
  await page.context().setOffline(true)
  await page.getByText("The control plane does not answer since").waitFor()
  // What was known stays.
  await page.getByRole("heading", { name: "AuthorizationPolicy" }).waitFor()
  await page.context().setOffline(false)
  await page.getByText("The control plane does not answer since").waitFor({ state: "detached" })
})

it("makes no page complain", () => {
  expect(complaints).toEqual([])
})
