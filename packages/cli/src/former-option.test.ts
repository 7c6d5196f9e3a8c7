// SPDX-License-Identifier: Apache-2.0
import { Command, Option } from "commander"
import { expect, it } from "vitest"
import { treeOf } from "./ctl/completion/tree.js"
import { FormerOption } from "./former-option.js"

function command(): Command {
  const current = new Option("--expose <n>", "a port").argParser(Number)
  return new Command("run").addOption(current).addOption(new FormerOption("--way-in <n>", current))
}

it.each(["--expose", "--way-in"])("sets the value of the current option by %s", flag => {
  expect(command().parse([flag, "9000"], { from: "user" }).opts()).toEqual({ expose: 9000 })
})

it("is in neither help nor completion", () => {
  expect(command().helpInformation()).not.toContain("way-in")
  expect(treeOf(command()).flags.flatMap(({ names }) => names)).toEqual(["--expose", "-h", "--help"])
})
