#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Starts the bundle that `npm run build` makes: one file to read instead of hundreds.

import { startedAhead } from "./ahead.js"

if (!startedAhead("merlonctl.js")) await import("../bundle/merlonctl.js")
