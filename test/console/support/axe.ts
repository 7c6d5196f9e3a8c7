// SPDX-License-Identifier: Apache-2.0
// What axe finds in a page as it is now, in both themes.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const THEMES = ["light", "dark"] as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** As `theme: rule: element`; nothing is the only right answer. */
export async function findings(page: Page): Promise<readonly string[]> {
  const found: string[] = []
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    if (await page.evaluate<boolean>("!('axe' in window)")) await page.evaluate(AXE)
    const violations = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)")
    for (const { id, nodes } of violations) {
      found.push(
        ...nodes.map(({ target, failureSummary }) => `${colorScheme}: ${id}: ${target.join(" ")}: ${failureSummary}`),
      )
    }
  }
  return found
}
