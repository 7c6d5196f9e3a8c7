// SPDX-License-Identifier: Apache-2.0
import { Command } from "commander"
import { expect, it } from "vitest"
import { kubectlSpelling } from "./kubectl-spelling.js"

const program = new Command("merlonctl").addCommand(
  new Command("delete")
    .option("--ignore-not-found", "", false)
    .option("--no-wait")
    .option("--no-headers")
    .option("--value <text>"),
)

it.each([
  [["--ignore-not-found=true"], ["--ignore-not-found"]],
  [["--ignore-not-found=false"], []],
  [["--wait=false"], ["--no-wait"]],
  [["--wait=true"], []],
  [["--no-headers=true"], ["--no-headers"]],
  [["--no-headers=false"], []],
  [["--value=true"], ["--value=true"]],
  [["--unknown=true"], ["--unknown=true"]],
  [
    ["name", "--wait", "--", "x=true"],
    ["name", "--wait", "--", "x=true"],
  ],
])("%j is %j", (given, expected) => {
  expect(kubectlSpelling(program, ["delete", ...given])).toEqual(["delete", ...expected])
})
