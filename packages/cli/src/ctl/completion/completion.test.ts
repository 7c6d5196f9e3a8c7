// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { beforeAll, describe, expect, it } from "vitest"
import { COMMANDS } from "../command-table.js"
import { programFor } from "../program.js"
import { bashCompletion } from "./bash.js"
import { fishCompletion } from "./fish.js"
import { type Node, nodesOf, treeOf } from "./tree.js"
import { zshCompletion } from "./zsh.js"

let root: Node
beforeAll(async () => {
  root = treeOf(await programFor("*"))
})

/** The completions that a real bash offers. */
function offered(...words: readonly string[]): readonly string[] {
  const quoted = words.map(word => `'${word}'`).join(" ")
  const script = `${bashCompletion(root)}
COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _merlonctl; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync("bash", ["-u", "-c", script], { encoding: "utf8" })
    .split("\n")
    .filter(word => word !== "")
}

describe("bash offers", { tags: ["needs/bash"] }, () => {
  it("every command", () => {
    expect(offered("merlonctl", "")).toEqual(Object.keys(COMMANDS))
  })

  it.each([
    [["merlonctl", "jwt", "m"], ["mint"]],
    [
      ["merlonctl", "get", "pe"],
      ["peerauthentications", "peerauthentication"],
    ],
    [
      ["merlonctl", "get", "pa", "-o", ""],
      ["json", "yaml", "wide", "name"],
    ],
    [["merlonctl", "get", "-n", "foo", "--sel"], ["--selector"]],
    [
      ["merlonctl", "completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [
      ["merlonctl", "jwt", "keygen", "--alg", "ES"],
      ["ES256", "ES384", "ES512"],
    ],
    [["merlonctl", "apply", "-f", "packages/cli/pack"], ["packages/cli/package.json"]],
    [["merlonctl", "patch", "pa", "x", "--type", "m"], ["merge"]],
    [["merlonctl", "get", "-n", ""], []],
  ])("%j %j", (words, expected) => {
    expect(offered(...words)).toEqual(expected)
  })
})

it.each([
  ["zsh", zshCompletion],
  ["fish", fishCompletion],
])("%s knows every command and flag", (_, write) => {
  const script = write(root)
  for (const { path, flags } of nodesOf(root)) {
    expect(script).toContain(path.split(" ").at(-1))
    for (const { names } of flags) expect(script).toContain(names.at(-1)?.replace(/^--/, ""))
  }
})
