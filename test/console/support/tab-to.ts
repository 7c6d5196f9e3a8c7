// SPDX-License-Identifier: Apache-2.0
// Moves through a page with the keyboard alone.

import type { Page } from "playwright-core"
import { expect } from "vitest"

interface Focus {
  readonly tag: string
  readonly text: string
  readonly visible: boolean
}

const FOCUS = `(() => {
  const at = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(at)
  const named = at.labels?.[0]?.textContent ?? at.getAttribute("aria-label") ?? at.textContent ?? ""
  const drawn = outlineStyle !== "none" && outlineWidth !== "0px"
  const inside = at.closest(".cm-editor, .scroller") !== null
  return { tag: at.tagName, text: named.trim(), visible: drawn || inside }
})()`

/** More stops than any page has. */
const MOST_STOPS = 400

/** Presses Tab until an element with this text has the focus. Each element on the way must show that it has the focus. */
export async function tabTo(page: Page, text: string | RegExp): Promise<void> {
  for (let stop = 0; stop < MOST_STOPS; stop++) {
    await page.keyboard.press("Tab")
    const focus = await page.evaluate<Focus>(FOCUS)
    if (focus.tag === "BODY") continue
    expect(focus.visible, `nothing shows that ${focus.tag} "${focus.text}" has the focus`).toBe(true)
    if (typeof text === "string" ? focus.text.startsWith(text) : text.test(focus.text)) return
  }
  throw new Error(`no Tab leads to ${String(text)}`)
}
