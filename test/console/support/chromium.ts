// SPDX-License-Identifier: Apache-2.0
// The browser of the machine, told to speak with nobody but who is tested.

import { existsSync } from "node:fs"

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium"

export const hasChromium = (): boolean => existsSync(CHROMIUM)

export const FLAGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
]
