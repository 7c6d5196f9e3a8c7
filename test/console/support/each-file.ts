// SPDX-License-Identifier: Apache-2.0
// Setup of each test file that opens the console in a browser.

import { existsSync } from "node:fs"
import { expect, inject } from "vitest"
import { CHROMIUM } from "./chromium.js"
import { endWithTheirTests } from "./visit.js"
import { whatRuns } from "./what-runs.js"

/** Test files that start their own mesh or need none. */
const WITHOUT_THE_SHARED_MESH = /[\\/](?:own-mesh|first-view)\.test\.ts$/

if (existsSync(CHROMIUM) && !WITHOUT_THE_SHARED_MESH.test(expect.getState().testPath ?? ""))
  await whatRuns(inject("consoleRuns"), "mesh")
endWithTheirTests()
