// SPDX-License-Identifier: Apache-2.0
// Runs axe on a page, in both themes. They differ only in colours (`light-dark()` in our stylesheets), so checks that are
// not about colours run once.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const THEMES = {
  light: { resultTypes: ["violations"] },
  dark: {
    resultTypes: ["violations"],
    runOnly: ["cat.color"],
    // This AAA rule is off by default, but `runOnly` would turn it on. The console promises less contrast.
    rules: { "color-contrast-enhanced": { enabled: false } },
  },
} as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Violations as `theme: rule: element`; empty for a correct page. */
export async function findings(page: Page): Promise<readonly string[]> {
  const found: string[] = []
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    if (await page.evaluate<boolean>("!('axe' in window)")) await page.evaluate(AXE)
    const options = JSON.stringify(THEMES[colorScheme])
    const violations = await page.evaluate<readonly Violation[]>(`axe.run(${options}).then(run => run.violations)`)
    for (const { id, nodes } of violations) {
      found.push(
        ...nodes.map(({ target, failureSummary }) => `${colorScheme}: ${id}: ${target.join(" ")}: ${failureSummary}`),
      )
    }
  }
  return found
}
