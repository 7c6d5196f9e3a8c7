#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The sample `httpbin`: an application that echoes its requests.

import { echo } from "./echo.js"
import { serve } from "./serve.js"

await serve("httpbin", () => echo)
