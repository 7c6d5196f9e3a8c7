// SPDX-License-Identifier: Apache-2.0
// Views of the console on a mesh without the shop. A browser test compares their screenshots on each run: it looks for
// the same words and compares the drawing, so a broken page is noticed.

import type { Page } from "playwright-core"

export interface View {
  /** Name of the screenshot. */
  readonly name: string
  readonly place: string
  /** Texts that the page shows when it is ready. */
  readonly shows: readonly string[]
  readonly before?: (page: Page) => Promise<void>
}

export const SIZE = { width: 1280, height: 800 }

export const pictureOf = ({ name }: View): string => `test/console/own-mesh/pictures/${name}.png`

export const VIEWS: readonly View[] = [
  {
    name: "overview",
    place: "/",
    shows: [
      "Needs attention",
      "of 4 proxies",
      "in sync",
      "28 allowed",
      "1 workload still gets plaintext",
      "Invariants",
      // The last row of the proxies.
      "foo/httpbin-1",
    ],
  },
  {
    name: "traffic",
    place: "/traffic?verdict=deny",
    shows: ["denied", "Why (current policies)", "no DENY policy applies"],
    before: async page => {
      await page.getByRole("row").nth(1).click()
    },
  },
  {
    name: "policy",
    place: "/policies/new?template=deny-path&namespace=app",
    shows: ["Effect of this change", "newly denied (403)", "Nothing else changes (proved)."],
    before: async page => {
      await page.locator(".warning").first().waitFor()
      // On a busy machine there are more and other warnings.
      await page.addStyleTag({ content: ".warning { display: none }" })
    },
  },
  {
    name: "access",
    place: "/access?proved",
    shows: ["Access", "none"],
    before: async page => {
      await page.getByRole("button", { name: "calls of app/web to app/web-v1-1" }).getByText("none").waitFor()
    },
  },
  {
    name: "map",
    place: "/map",
    shows: ["Map", "in plaintext"],
    before: async page => {
      // A straight edge has no height, so it counts as hidden.
      await page.locator(".react-flow__edge").first().waitFor({ state: "attached" })
    },
  },
]

/** Throws if the page does not show what it should. */
export async function see(page: Page, { place, shows, before }: View): Promise<void> {
  // Through an unknown page, so that nothing that was opened before stays open.
  await page.goto(`${new URL("/", page.url()).href}#/nowhere`)
  await page.goto(`${new URL("/", page.url()).href}#${place}`)
  await page.getByRole("heading", { level: 1 }).waitFor()
  await before?.(page)
  for (const text of shows) await page.getByText(text).first().waitFor()
  for (const wait of ["Loading…", "Drawing…"]) await page.getByText(wait).first().waitFor({ state: "detached" })
}
