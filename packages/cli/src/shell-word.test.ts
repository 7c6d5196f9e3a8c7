// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { expect, test } from "vitest"
import { shellWord } from "./shell-word.js"

test.each(["/a/b-c.yaml", "/a mesh/kubeconfig", "it's", "$(id)", "a\nb", "", "ü", "`x`", "--flag=1"])(
  "a shell reads %j back as it was",
  text => {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(text)}`], { encoding: "utf8" })).toBe(text)
  },
)

test.each(["/a/b-c.yaml", "--flag=1", "npx"])("%s needs no quotes", text => {
  expect(shellWord(text)).toBe(text)
})
