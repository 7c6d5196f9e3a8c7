// SPDX-License-Identifier: Apache-2.0
// How the set-up of the console's tests, in Vitest's own process, tells their workers that mesh and browser run: workers are
// told other things only before they start.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

type WhatRuns =
  | { readonly browser: string; readonly failure?: never }
  | { readonly failure: string; readonly browser?: never }

const PAUSE_MS = 100

export function tellWhatRuns(file: string, what: WhatRuns): void {
  writeFileSync(`${file}.part`, JSON.stringify(what))
  renameSync(`${file}.part`, file)
}

/** Where the browser is, when it and the mesh run; throws when they could not be started. */
export async function whatRuns(file: string): Promise<string> {
  // The set-up always comes to an end, and says how.
  while (!existsSync(file)) await sleep(PAUSE_MS)
  const what: WhatRuns = JSON.parse(readFileSync(file, "utf8"))
  if (what.failure !== undefined) throw new Error(what.failure)
  return what.browser
}
