// SPDX-License-Identifier: Apache-2.0
// Other versions of Node, from npm packages, cached in the checkout.

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** Not in the folder for temporary files, where another user could have put a program first. */
const CACHE = fileURLToPath(new URL("../.cache/", import.meta.url))
/** npm's name for the package with Node for this processor. */
export const NODE_PACKAGE = `node-${process.platform}-${process.arch}`

/** The folder of its program; undefined if it cannot be installed. */
export function nodeFolder(version: string): string | undefined {
  const home = join(CACHE, `node-${version}`)
  const folder = join(home, "node_modules", NODE_PACKAGE, "bin")
  if (existsSync(join(folder, "node"))) return folder
  mkdirSync(home, { recursive: true })
  spawnSync("npm", ["install", "--no-save", "--silent", "--prefix", home, `${NODE_PACKAGE}@${version}`], {
    // Standard output is reserved for the calling program.
    stdio: ["ignore", "ignore", "inherit"],
  })
  return existsSync(join(folder, "node")) ? folder : undefined
}
