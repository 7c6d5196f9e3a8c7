// SPDX-License-Identifier: Apache-2.0
// Loaded before each file that tries the console in a browser.

import { inject } from "vitest"
import { endWithTheirTests } from "./visit.js"
import { whatRuns } from "./what-runs.js"

await whatRuns(inject("consoleRuns"))
endWithTheirTests()
