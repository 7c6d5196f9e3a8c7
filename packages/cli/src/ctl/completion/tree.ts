// SPDX-License-Identifier: Apache-2.0
// The tree of commands and flags to complete, derived from the commands themselves.

import { KINDS } from "@merlon/policy/resources"
import type { Argument, Command, Option } from "commander"

export interface Node {
  /** The words of the command: `merlonctl jwt mint`. */
  readonly path: string
  readonly summary: string
  readonly children: readonly Node[]
  readonly flags: readonly Flag[]
  /** Possible values of the first argument. */
  readonly words: readonly string[]
}

export interface Flag {
  /** For example `-f` and `--filename`. */
  readonly names: readonly string[]
  readonly summary: string
  readonly takes: "nothing" | "file" | "word"
  /** The values of a flag that takes one of a few words. */
  readonly choices: readonly string[]
}

/** Common kinds of Kubernetes, in addition to ours. */
const PLATFORM_KINDS = ["configmaps", "deployments", "namespaces", "pods", "secrets", "serviceaccounts", "services"]
const FILES = /^<(file|path|folder)>$/

export function treeOf(command: Command, before: readonly string[] = []): Node {
  const path = [...before, command.name()]
  const help = { names: ["-h", "--help"], summary: "show help", takes: "nothing", choices: [] } as const
  return {
    path: path.join(" "),
    summary: command.description(),
    children: command.commands.map(child => treeOf(child, path)),
    flags: [...command.options.filter(({ hidden }) => !hidden).map(flagOf), help],
    words: command.registeredArguments.slice(0, 1).flatMap(wordsOf),
  }
}

export function nodesOf(node: Node): readonly Node[] {
  return [node, ...node.children.flatMap(nodesOf)]
}

function flagOf(option: Option): Flag {
  const { short, long, description, flags, argChoices = [] } = option
  const value = /[<[][^>\]]*[>\]]/.exec(flags)?.[0]
  return {
    names: [short, long].flatMap(name => name ?? []),
    summary: description,
    takes: value === undefined ? "nothing" : FILES.test(value) ? "file" : "word",
    choices: argChoices,
  }
}

function wordsOf(argument: Argument): readonly string[] {
  if (argument.argChoices !== undefined) return argument.argChoices
  return argument.name() === "kind" ? kindWords() : []
}

function kindWords(): readonly string[] {
  const ours = KINDS.flatMap(({ plural, singular, shortName }) => [plural, singular, shortName])
  return ["policies", ...ours, ...PLATFORM_KINDS]
}
