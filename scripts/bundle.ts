// SPDX-License-Identifier: Apache-2.0
// Makes one file of each program, with what a command alone needs in a file of its own. A proxy is ready in a fraction of
// the time that reading hundreds of modules takes.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { build } from "esbuild"

const OUT = "packages/cli/bundle"
const FRESH = `${OUT}.${process.pid}`
const OLD = `${FRESH}.old`
const PROGRAMS = ["merlond", "merlonctl", "local/leash"]
  .map(name => `packages/cli/src/${name}.ts`)
  .filter(file => existsSync(file))

const { metafile } = await build({
  entryPoints: PROGRAMS,
  outdir: FRESH,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  conditions: ["@merlon/source"],
  // Names stay: they are what a stack trace shows. Line breaks go: they are a third of the bytes.
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: "linked",
  sourcesContent: false,
  legalComments: "none",
  // Finds its binary beside itself.
  external: ["classic-level"],
  // Dependencies in the older module format call `require`.
  banner: { js: 'import{createRequire as $require}from"node:module";const require=$require(import.meta.url);' },
  logLevel: "warning",
  metafile: true,
})
writeFileSync(`${FRESH}/packages.json`, JSON.stringify(bundledPackages(Object.keys(metafile.inputs)), null, 2))
// Whole or not at all: programs may be started while they are built anew.
if (existsSync(OUT)) renameSync(OUT, OLD)
renameSync(FRESH, OUT)
rmSync(OLD, { recursive: true, force: true })

/** The packages of others whose code is in the programs: what a list of the image's contents has to name. */
function bundledPackages(files: readonly string[]) {
  const folders = new Set(files.flatMap(file => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []))
  const packages = [...folders].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
    return [`${name}@${version}`, { name, version, license }] as const
  })
  // The same version may stand in two places.
  return [...new Map(packages).values()]
}
