// SPDX-License-Identifier: Apache-2.0
// Bundles a TypeScript program and its dependencies into one JavaScript file, so that a process that is started a
// hundred times starts quickly: most of a start is finding and compiling modules.

import { renameSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type BuildOptions, build } from "esbuild"
import { tablesInside } from "../../../scripts/release/tables-inside.js"

const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/merlon-resilience/", import.meta.url))

export async function bundle(program: URL, more: BuildOptions = {}): Promise<string> {
  const source = fileURLToPath(program)
  const outfile = join(CACHE, `${basename(source, ".ts")}.mjs`)
  const fresh = `${outfile}.${process.pid}`
  await build({
    entryPoints: [source],
    outfile: fresh,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // Their native binaries are next to their own files.
    external: ["classic-level", "koffi"],
    // Globals that CommonJS dependencies expect.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    plugins: [tablesInside],
    minifyWhitespace: true,
    logLevel: "warning",
    ...more,
  })
  // Atomic, because several processes may bundle the same program at the same time.
  renameSync(fresh, outfile)
  return outfile
}
