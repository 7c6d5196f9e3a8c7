// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { parseYaml, YamlSyntaxError } from "./yaml.js"

it("reads YAML, and JSON as what it is", () => {
  expect(parseYaml("a: [1, two]\nb: {c: true}").value).toEqual({ a: [1, "two"], b: { c: true } })
  expect(parseYaml('{"a":9007199254740993}').value).toEqual({ a: 9007199254740993n })
})

// Before it was rejected, each of these documents took minutes, exhausted memory or crashed the process, or would have.
describe("hostile YAML is rejected", () => {
  test.each<[string, string]>([
    ["nested keys", "? ".repeat(5_000)],
    ["a mapping as key", "? {a: b}\n: c"],
    ["a list as key", "[a, b]: c"],
    ["nested lists", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
    ["nested sequences", "- ".repeat(100_000)],
    ["too much of it", "a: b\n".repeat(200_000)],
    [
      "aliases of aliases",
      `a: &a [x]\n${Array.from({ length: 30 }, (_, n) => `b${n}: &b${n} [${`*${n === 0 ? "a" : `b${n - 1}`}, `.repeat(9)}x]`).join("\n")}`,
    ],
  ])("%s", (_, text) => {
    expect(() => parseYaml(text)).toThrow(YamlSyntaxError)
  })
})
