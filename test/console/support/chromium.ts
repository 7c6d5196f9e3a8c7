// SPDX-License-Identifier: Apache-2.0
// The browser of the machine, told to speak with nobody but who is tested. Chromium without windows, where the machine has it:
// thirty pages of their own took a sixth of the CPU that they take with one that could show them.

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
]
