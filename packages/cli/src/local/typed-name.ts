// SPDX-License-Identifier: Apache-2.0
// How `merlonctl` is typed where a person stands: by its name, by npx, or by node and its path. What we tell people to try
// must work as it is written.

import { accessSync, constants } from "node:fs"
import { delimiter, join, relative } from "node:path"
import { shellWord } from "./shell-word.js"

export function typedName(program: string, cwd: string, path: string): string {
  // npm puts its own folders in front while it runs a script; they are gone when the person types.
  const folders = path.split(delimiter).filter(folder => !/node_modules[\\/]|node-gyp-bin/.test(folder))
  if (folders.some(folder => folder !== "" && isProgram(join(folder, "merlonctl")))) return "merlonctl"
  if (isProgram(join(cwd, "node_modules", ".bin", "merlonctl"))) return "npx merlonctl"
  const near = relative(cwd, program)
  return `node ${shellWord(near.startsWith("..") ? program : near)}`
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
