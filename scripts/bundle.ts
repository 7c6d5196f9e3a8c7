// SPDX-License-Identifier: Apache-2.0
// Makes one file of each program, with what a command alone needs in a file of its own. A proxy is ready in a fraction of
// the time that reading hundreds of modules takes.

import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { bundlePrograms } from "./release/bundling.js"
import { bundledComponents, readLock } from "./release/components.js"

const OUT = "packages/cli/bundle"
const FRESH = `${OUT}.${process.pid}`
const OLD = `${FRESH}.old`

const metafile = await bundlePrograms(FRESH)
// The packages of others whose code is in the programs: what a list of the image's contents has to name.
const packages = bundledComponents(metafile, readLock()).map(({ name, version, licence }) => ({
  name,
  version,
  license: licence,
}))
writeFileSync(`${FRESH}/packages.json`, JSON.stringify(packages, undefined, 2))
// Whole or not at all: programs may be started while they are built anew.
if (existsSync(OUT)) renameSync(OUT, OLD)
renameSync(FRESH, OUT)
rmSync(OLD, { recursive: true, force: true })
