// SPDX-License-Identifier: Apache-2.0
// Finds typesetting errors on a page: words broken in the middle, and names with the wide hyphens of tabular figures.

import type { Page } from "playwright-core"

const ERRORS = `(() => {
  const found = []
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (text.parentElement.closest(".visually-hidden") !== null) continue
    const words = text.textContent.trim()
    const range = document.createRange()
    range.selectNodeContents(text)
    if (/^[A-Za-z]+$/.test(words) && range.getClientRects().length > 1) found.push("broken in the middle: " + words)
    const { fontVariantNumeric, fontFamily } = getComputedStyle(text.parentElement)
    const isTabular = fontVariantNumeric.includes("tabular-nums") && !fontFamily.includes("Mono")
    if (/[a-z]-[a-z0-9]/.test(words) && isTabular) found.push("with wide hyphens: " + words)
  }
  return found
})()`

/** Empty for a correct page. */
export function typesettingErrors(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(ERRORS)
}
