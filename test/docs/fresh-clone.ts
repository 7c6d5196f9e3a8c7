// SPDX-License-Identifier: Apache-2.0
// A clone in which nothing was ever built: the repository's files and the packages that `npm ci` installs.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { files } from "../architecture/tree.js"

/**
 * Third-party packages are linked to those installed here. Our own packages are the clone's, and caches of tools are
 * omitted.
 */
const NOT_LINKED = new Set(["@merlon", ".cache", ".vite"])

export function freshClone(): string {
  const clone = mkdtempSync(join(tmpdir(), "merlon-clone-"))
  for (const path of files()) cpSync(path, join(clone, path))
  for (const folder of ["node_modules", "packages/cli/node_modules"].filter(existsSync)) {
    mkdirSync(join(clone, folder))
    for (const name of readdirSync(folder).filter(entry => !NOT_LINKED.has(entry))) {
      symlinkSync(resolve(folder, name), join(clone, folder, name))
    }
  }
  mkdirSync(join(clone, "node_modules/@merlon"))
  for (const name of readdirSync("packages")) {
    symlinkSync(`../../packages/${name}`, join(clone, "node_modules/@merlon", name))
  }
  return clone
}

/** The environment of a user who has just cloned the repository: no variable of this test affects builds there. */
export function freshShell(clone: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: clone }
}
