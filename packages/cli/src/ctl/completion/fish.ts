// SPDX-License-Identifier: Apache-2.0
// Completion for fish: one line for each command, flag or value.

import { type Flag, type Node, nodesOf } from "./tree.js"

export function fishCompletion(root: Node): string {
  return `# fish completion for merlonctl; load it with: merlonctl completion fish | source
complete -c merlonctl -f
${nodesOf(root).flatMap(linesOf).join("\n")}
`
}

function linesOf(node: Node): readonly string[] {
  const when = `-n ${quoted(condition(node))}`
  return [
    ...node.children.map(
      child =>
        `complete -c merlonctl ${when} -a ${quoted(child.path.split(" ").at(-1) ?? "")} -d ${quoted(child.summary)}`,
    ),
    ...(node.words.length === 0 ? [] : [`complete -c merlonctl ${when} -a ${quoted(node.words.join(" "))}`]),
    ...node.flags.map(flag => `complete -c merlonctl ${when} ${flagPart(flag)}`),
  ]
}

/** All words of the path were typed, and none of its children. */
function condition({ path, children }: Node): string {
  const seen = path
    .split(" ")
    .slice(1)
    .map(word => `__fish_seen_subcommand_from ${word}`)
  const below = children.map(child => child.path.split(" ").at(-1)).join(" ")
  const parts = below === "" ? seen : [...seen, `not __fish_seen_subcommand_from ${below}`]
  return parts.join("; and ")
}

function flagPart({ names, summary, takes, choices }: Flag): string {
  const spelled = names.map(name => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  const value =
    choices.length > 0 ? ` -x -a ${quoted(choices.join(" "))}` : { nothing: "", file: " -r -F", word: " -x" }[takes]
  return `${spelled.join(" ")}${value} -d ${quoted(summary)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
}
