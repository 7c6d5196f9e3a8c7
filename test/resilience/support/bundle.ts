// SPDX-License-Identifier: Apache-2.0
//
// One plain JavaScript file of a TypeScript program, so that a process that is killed a hundred times starts quickly.

import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/merlon-resilience/", import.meta.url))

export async function bundle(program: URL): Promise<string> {
  const source = fileURLToPath(program)
  const outfile = join(CACHE, `${basename(source, ".ts")}.${process.pid}.mjs`)
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    minifyWhitespace: true,
    logLevel: "warning",
  })
  return outfile
}
