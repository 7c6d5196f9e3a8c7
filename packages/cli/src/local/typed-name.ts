// SPDX-License-Identifier: Apache-2.0
// How the user types `merlonctl`: by its name, by npx, or by node and its path. The commands that we suggest must work as
// printed.

import { accessSync, constants } from "node:fs"
import { delimiter, isAbsolute, join, relative } from "node:path"
import { shellWord } from "../shell-word.js"

/** `otherwise` is the path of the program, after the interpreter if it needs one. */
export function typedName(otherwise: readonly string[], cwd: string, path: string): string {
  // npm adds its own folders to PATH while it runs a script. They are missing when the user types.
  const folders = path.split(delimiter).filter(folder => !/node_modules[\\/]|node-gyp-bin/.test(folder))
  if (folders.some(folder => folder !== "" && isProgram(join(folder, "merlonctl")))) return "merlonctl"
  if (isProgram(join(cwd, "node_modules", ".bin", "merlonctl"))) return "npx merlonctl"
  return otherwise.map(word => shellWord(isAbsolute(word) ? nearer(word, cwd) : word)).join(" ")
}

function nearer(path: string, cwd: string): string {
  const near = relative(cwd, path)
  if (near.startsWith("..")) return path
  return near.includes("/") ? near : `./${near}`
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
