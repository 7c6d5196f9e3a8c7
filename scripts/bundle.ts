// SPDX-License-Identifier: Apache-2.0
// Bundles each program into one file, with separate files for parts that only some commands need, so that a program
// starts without reading hundreds of modules.

import { existsSync, renameSync, rmSync } from "node:fs"
import { TEMPORARY_BUNDLE as FRESH, makeBundle, BUILT as OUT } from "./release/bundle-folder.js"

const OLD = `${FRESH}.old`

await makeBundle(FRESH)
// Replaced as a whole: programs may be started while they are being rebuilt.
if (existsSync(OUT)) renameSync(OUT, OLD)
renameSync(FRESH, OUT)
rmSync(OLD, { recursive: true, force: true })
