#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The sample `httpbin`: an application that tells what it was asked.

import { echo } from "./echo.js"
import { serve } from "./serve.js"

await serve("httpbin", () => echo)
