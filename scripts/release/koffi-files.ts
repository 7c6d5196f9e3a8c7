// SPDX-License-Identifier: Apache-2.0
// koffi, which calls the C library, in a folder next to a bundle: its binaries for the systems that use it, without its
// installer.

import { cpSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Plugin } from "esbuild"

const BUILT = "node_modules/koffi/build/koffi"
/** The folder in a bundle. */
const FOLDER = "koffi"

/** The path by which koffi's licence is found. */
export const KOFFI = "node_modules/koffi/index.js"

const LOADER = `const file = libc => "./${FOLDER}/" + libc + "_" + process.arch + "/koffi.node"
let binding
try {
  binding = require(file("linux"))
} catch (error) {
  // Node on musl cannot load what is built for glibc.
  try {
    binding = require(file("musl"))
  } catch {
    throw error
  }
}
export default binding`

export function copyKoffi(bundle: string): void {
  for (const name of ["linux_x64", "linux_arm64", "musl_x64", "musl_arm64"])
    cpSync(join(BUILT, name), join(bundle, FOLDER, name), { recursive: true })
}

/** For Linux with glibc, the target of executables and the image: the file, and its path in a bundle. */
export function koffiBinary(arch: "x64" | "arm64"): { readonly file: string; readonly path: string } {
  return { file: join(BUILT, `linux_${arch}`, "koffi.node"), path: `${FOLDER}/linux_${arch}/koffi.node` }
}

export const koffiFiles: Plugin = {
  name: "koffi-files",
  setup(plugin) {
    plugin.onResolve({ filter: /^koffi$/ }, () => ({ path: "koffi", namespace: "koffi" }))
    plugin.onLoad({ filter: /^koffi$/, namespace: "koffi" }, () => ({ contents: LOADER, loader: "js" }))
  },
}

export const koffiFromAsset: Plugin = {
  name: "koffi-from-asset",
  setup(plugin) {
    plugin.onResolve({ filter: /^koffi$/ }, () => ({ path: resolve("scripts/release/koffi-asset.ts") }))
  },
}
