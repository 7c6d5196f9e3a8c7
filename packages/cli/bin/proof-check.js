#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Starts the bundle that `npm run build` makes.

import { startBundle } from "./start-bundle.js"

await startBundle("proof-check.js")
