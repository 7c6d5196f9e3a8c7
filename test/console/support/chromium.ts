// SPDX-License-Identifier: Apache-2.0
// The machine's browser, allowed to connect only to the tested server. Uses headless Chromium if the machine has it:
// thirty pages took a sixth of the CPU of a full browser.

import { existsSync } from "node:fs"

const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const

export const CHROMIUM = process.env.CHROMIUM ?? PROGRAMS.find(existsSync) ?? PROGRAMS[0]

export const FLAGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  // Places letters as on high-resolution screens, which most users have.
  "--font-render-hinting=none",
  // The pages of a browser context share one renderer process, and none is kept in reserve: starting one takes more CPU than
  // a page.
  "--renderer-process-limit=1",
  "--disable-features=SpareRendererForSitePerProcess",
]
