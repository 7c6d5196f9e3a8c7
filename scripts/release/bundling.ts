// SPDX-License-Identifier: Apache-2.0
// Bundles our programs: as a folder that needs only Node, and as one script for executables. Two dependencies have
// native binaries, which are included.

import { cpSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild"
import { embedPage } from "./embed-page.js"
import { copyKoffi, KOFFI, koffiFiles, koffiFromAsset } from "./koffi-files.js"
import { lazyDependencies } from "./lazy-dependencies.js"
import { leanBuiltins } from "./lean-builtins.js"
import { buildPage, pageInputs } from "./page.js"
import { partsOfDependencies } from "./parts-of-dependencies.js"
import { separateXserver, XSERVER } from "./separate-xserver.js"
import { tablesInside } from "./tables-inside.js"

// The first bundling starts esbuild, which ends with this process. Without garbage collection it does a fifth less
// work, for half as much memory again.
process.env.GOGC ??= "off"

/** The version of all packages: that of the root's package.json. */
export function currentVersion(): string {
  return JSON.parse(readFileSync("package.json", "utf8")).version
}

const COMMON: BuildOptions & { metafile: true } = {
  bundle: true,
  platform: "node",
  target: "node20",
  conditions: ["@merlon/source"],
  // Names are kept, because stack traces show them. Line breaks are removed: they are a third of the bytes.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
}

const PROOF_THREAD = "packages/control/src/proofs/proof-thread-main.ts"
const QUESTION_THREAD = "packages/cli/src/ctl/mcp/question-thread-main.ts"

const PREBUILDS = "node_modules/classic-level/prebuilds"
const SYSTEMS = /^(linux|darwin)-/

export async function bundlePrograms(outdir: string): Promise<Metafile> {
  await buildPage()
  const plugins = [tablesInside, embedPage, partsOfDependencies, koffiFiles, lazyDependencies, leanBuiltins]
  const common = {
    ...COMMON,
    outdir,
    splitting: true,
    format: "esm",
    sourcemap: "linked",
    sourcesContent: false,
    // CommonJS dependencies call `require`, and one looks for its binary next to itself.
    banner: {
      js: 'import{createRequire as $require}from"node:module";const require=$require(import.meta.url),__dirname=import.meta.dirname;',
    },
  } as const
  const { metafile } = await build({
    ...common,
    entryPoints: {
      merlond: "packages/cli/src/merlond.ts",
      merlonctl: "packages/cli/src/merlonctl.ts",
      "proof-check": "packages/proof-check/src/main.ts",
      "parent-watchdog": "packages/cli/src/local/processes/parent-watchdog.ts",
      // Loaded from the same folder as the file that starts it.
      "proof-thread-main": PROOF_THREAD,
      "question-thread-main": QUESTION_THREAD,
    },
    plugins: [...plugins, separateXserver],
  })
  const proxy = await build({ ...common, entryPoints: { xserver: XSERVER }, plugins })
  for (const name of readdirSync(PREBUILDS).filter(folder => SYSTEMS.test(folder))) {
    cpSync(join(PREBUILDS, name), join(outdir, "prebuilds", name), { recursive: true })
  }
  copyKoffi(outdir)
  // The page is built by another tool and koffi is copied; both are part of the bundle.
  const inputs = Object.fromEntries([...pageInputs(), KOFFI].map(path => [path, { bytesInOutput: 0 }]))
  const page = { bytes: 0, imports: [], exports: [], inputs }
  return {
    inputs: { ...metafile.inputs, ...proxy.metafile.inputs },
    outputs: { ...metafile.outputs, ...proxy.metafile.outputs, page },
  }
}

/** The name of the store's binary in an executable. */
export const STORE_ASSET = "classic-level.node"

/** The name of koffi's binary, which calls the C library. */
export const KOFFI_ASSET = "koffi.node"

/** The names of the code that runs in separate threads. */
export const PROOF_THREAD_ASSET = "proof-thread.cjs"
export const QUESTION_THREAD_ASSET = "question-thread.cjs"

/** For Linux with glibc, the target of executables. */
export function storeBinary(arch: "x64" | "arm64"): string {
  return join(PREBUILDS, `linux-${arch}`, arch === "x64" ? "classic-level.node" : "classic-level.armv8.node")
}

const storeFromAsset: Plugin = {
  name: "store-from-asset",
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/binding$/ }, ({ importer }) =>
      importer.includes("classic-level") ? { path: join(process.cwd(), "scripts/release/store-asset.ts") } : undefined,
    )
  },
}

/** Everything as one CommonJS script, the only format that executables support. */
export async function bundleScript(outfile: string): Promise<void> {
  await buildPage()
  await buildScript("scripts/release/executable-main.ts", outfile)
}

async function buildScript(entry: string, outfile: string): Promise<void> {
  await build({
    ...COMMON,
    entryPoints: [entry],
    outfile,
    format: "cjs",
    banner: { js: 'const $url=require("node:url").pathToFileURL(process.execPath).href;' },
    define: { "import.meta.url": "$url" },
    plugins: [storeFromAsset, koffiFromAsset, tablesInside, embedPage, partsOfDependencies, lazyDependencies],
  })
}

/** A thread starts with its own script too. */
export async function bundleProofThread(outfile: string): Promise<void> {
  await build({ ...COMMON, entryPoints: [PROOF_THREAD], outfile, format: "cjs" })
}

/** The same for the thread that answers `merlonctl mcp`. */
export async function bundleQuestionThread(outfile: string): Promise<void> {
  await buildScript(QUESTION_THREAD, outfile)
}
