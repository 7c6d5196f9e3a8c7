// SPDX-License-Identifier: Apache-2.0
// Man pages and shell completions as files below `share/`, where systems look for them. Packages contain them.

import { merlondProgram } from "../../merlond-program.js"
import { programFor } from "../program.js"
import { bashCompletion } from "./bash.js"
import { fishCompletion } from "./fish.js"
import { manPage } from "./man-page.js"
import { treeOf } from "./tree.js"
import { zshCompletion } from "./zsh.js"

export interface ShellFile {
  readonly path: string
  readonly text: string
}

export async function shellFiles(): Promise<readonly ShellFile[]> {
  const program = await programFor("*")
  const root = treeOf(program)
  return [
    { path: "share/man/man1/merlonctl.1", text: manPage(program) },
    { path: "share/man/man1/merlond.1", text: manPage(await merlondProgram("*")) },
    { path: "share/bash-completion/completions/merlonctl", text: bashCompletion(root) },
    { path: "share/zsh/vendor-completions/_merlonctl", text: zshCompletion(root) },
    { path: "share/fish/vendor_completions.d/merlonctl.fish", text: fishCompletion(root) },
  ]
}
