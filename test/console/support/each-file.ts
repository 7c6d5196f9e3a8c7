// SPDX-License-Identifier: Apache-2.0
// Loaded before each file that tries the console in a browser.

import { expect, inject } from "vitest"
import { endWithTheirTests } from "./visit.js"
import { whatRuns } from "./what-runs.js"

/** They bring their mesh, or need none. */
const WITHOUT_THE_SHARED_MESH = /[\\/](?:own-mesh|first-view)\.test\.ts$/

if (!WITHOUT_THE_SHARED_MESH.test(expect.getState().testPath ?? "")) await whatRuns(inject("consoleRuns"), "mesh")
endWithTheirTests()
