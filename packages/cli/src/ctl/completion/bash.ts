// SPDX-License-Identifier: Apache-2.0
// Completion for bash: finds the command on the line, then offers what can follow.

import { type Flag, type Node, nodesOf } from "./tree.js"

export function bashCompletion(root: Node): string {
  const nodes = nodesOf(root)
  return `# bash completion for merlonctl; load it with: source <(merlonctl completion bash)
_merlonctl() {
  local cur prev path word i
  # bash splits words at = and :, which flags and tokens contain.
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev=""
  if (( COMP_CWORD > 0 )); then prev="\${COMP_WORDS[COMP_CWORD-1]}"; fi
  path="merlonctl"
  for (( i = 1; i < COMP_CWORD; i++ )); do
    word="\${COMP_WORDS[i]}"
    case "$path $word" in
${nodes
  .slice(1)
  .map(({ path }) => `      "${path}") path="${path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path $prev" in
${nodes.flatMap(flagCases).join("\n")}
  esac
  case "$path" in
${nodes.map(wordCase).join("\n")}
  esac
}
complete -o default -F _merlonctl merlonctl
`
}

function flagCases(node: Node): readonly string[] {
  return node.flags.filter(({ takes }) => takes !== "nothing").map(flag => flagCase(node, flag))
}

function flagCase({ path }: Node, { names, takes, choices }: Flag): string {
  const patterns = names.map(name => `"${path} ${name}"`).join("|")
  if (choices.length > 0)
    return `    ${patterns}) COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$cur")); return ;;`
  const action = takes === "file" ? 'COMPREPLY=($(compgen -f -- "$cur"))' : "COMPREPLY=()"
  return `    ${patterns}) ${action}; return ;;`
}

function wordCase({ path, children, words, flags }: Node): string {
  const plain = [...children.map(child => child.path.split(" ").at(-1)), ...words].join(" ")
  const dashed = flags.flatMap(({ names }) => names).join(" ")
  return `    "${path}")
      if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W "${dashed}" -- "$cur"))
      else COMPREPLY=($(compgen -W "${plain}" -- "$cur")); fi ;;`
}
