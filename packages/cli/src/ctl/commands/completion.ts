// SPDX-License-Identifier: Apache-2.0
// `merlonctl completion`: generates shell completion for commands, flags and kinds.

import { Argument, Command } from "commander"
import { bashCompletion } from "../completion/bash.js"
import { fishCompletion } from "../completion/fish.js"
import { type Node, treeOf } from "../completion/tree.js"
import { zshCompletion } from "../completion/zsh.js"
import { print } from "../terminal.js"

const SHELLS: Readonly<Record<string, (root: Node) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

/** `wholeProgram` is loaded only when a completion is requested. */
export function completionCommand(wholeProgram: () => Promise<Command>): Command {
  return new Command("completion")
    .description("Generate shell completion")
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(SHELLS)))
    .addHelpText(
      "after",
      `
Load it now, or in the file that your shell reads when it starts:
  source <(merlonctl completion bash)
  source <(merlonctl completion zsh)
  merlonctl completion fish | source`,
    )
    .action(async (shell: string) => {
      print(SHELLS[shell]?.(treeOf(await wholeProgram())) ?? "")
    })
}
