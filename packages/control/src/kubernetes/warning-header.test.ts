// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { readWarnings } from "./warning-header.js"

it.each([
  ["one", ['299 - "spec.a: is odd"'], ["spec.a: is odd"]],
  ["several in one line", ['299 - "a", 299 - "b, c"'], ["a", "b, c"]],
  ["several lines", ['299 - "a"', '299 kube "b"'], ["a", "b"]],
  ["quotes within", ['299 - "say \\"hi\\" \\\\ there"'], ['say "hi" \\ there']],
  ["text outside ASCII", [`299 - "${Buffer.from("a … b", "utf8").toString("latin1")}"`], ["a … b"]],
  ["text that is not UTF-8", ['299 - "a \u00e9 b"'], ["a \u00e9 b"]],
  ["no warning with another code", ['199 - "a"'], []],
  ["no warning in malformed headers", ["299", "", '299 - "open'], []],
])("reads %s", (_, lines, expected) => {
  expect(readWarnings(lines)).toEqual(expected)
})

it("reads a limited number of warnings", () => {
  expect(readWarnings(Array.from({ length: 1000 }, () => '299 - "a"'))).toHaveLength(50)
})
