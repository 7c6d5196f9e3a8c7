// SPDX-License-Identifier: Apache-2.0
// Loaded before each file that tries the console in a browser.

import { endWithTheirTests } from "./visit.js"

endWithTheirTests()
