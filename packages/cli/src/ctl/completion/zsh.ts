// SPDX-License-Identifier: Apache-2.0
// Completion for zsh, with the summaries of commands and flags.

import { type Flag, type Node, nodesOf } from "./tree.js"

export function zshCompletion(root: Node): string {
  const nodes = nodesOf(root)
  return `#compdef merlonctl
# zsh completion for merlonctl; load it with: source <(merlonctl completion zsh)
_merlonctl() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}" path_="merlonctl" i
  for (( i = 2; i < CURRENT; i++ )); do
    case "$path_ \${words[i]}" in
${nodes
  .slice(1)
  .map(({ path }) => `      "${path}") path_="${path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path_ $prev" in
${nodes.flatMap(node => node.flags.filter(({ takes }) => takes !== "nothing").map(flag => flagCase(node, flag))).join("\n")}
  esac
  local -a offered
  case "$path_" in
${nodes.map(wordCase).join("\n")}
  esac
}
if [ "$funcstack[1]" = "_merlonctl" ]; then _merlonctl "$@"; else compdef _merlonctl merlonctl; fi
`
}

function flagCase({ path }: Node, { names, takes, choices }: Flag): string {
  const patterns = names.map(name => `"${path} ${name}"`).join("|")
  if (choices.length > 0) return `    ${patterns}) compadd -- ${choices.join(" ")}; return ;;`
  return `    ${patterns}) ${takes === "file" ? "_files; return" : "return"} ;;`
}

function wordCase({ path, children, words, flags }: Node): string {
  const described = flags.flatMap(({ names, summary }) => names.map(name => entry(name, summary)))
  const plain = [
    ...children.map(child => entry(child.path.split(" ").at(-1) ?? "", child.summary)),
    ...words.map(quoted),
  ]
  return `    "${path}")
      if [[ "$cur" == -* ]]; then offered=(${described.join(" ")})
      else offered=(${plain.join(" ")}); fi
      if (( \${#offered} )); then _describe -t words merlonctl offered; else _files; fi ;;`
}

function entry(name: string, summary: string): string {
  return quoted(`${name.replaceAll(":", "\\:")}:${summary}`)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
