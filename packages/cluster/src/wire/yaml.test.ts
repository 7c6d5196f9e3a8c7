// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { parseYaml, YamlSyntaxError } from "./yaml.js"

it("reads YAML and JSON", () => {
  expect(parseYaml("a: [1, two]\nb: {c: true}").value).toEqual({ a: [1, "two"], b: { c: true } })
  expect(parseYaml('{"a":9007199254740993}').value).toEqual({ a: 9007199254740993n })
})

// Without these checks, each of these documents would take minutes, exhaust memory or crash the process.
describe("rejects hostile YAML", () => {
  test.each<[string, string]>([
    ["nested keys", "? ".repeat(5_000)],
    ["a mapping as key", "? {a: b}\n: c"],
    ["a list as key", "[a, b]: c"],
    ["nested lists", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
    ["nested sequences", "- ".repeat(100_000)],
    ["a document that is too large", "a: b\n".repeat(200_000)],
    [
      "nested aliases",
      `a: &a [x]\n${Array.from({ length: 30 }, (_, n) => `b${n}: &b${n} [${`*${n === 0 ? "a" : `b${n - 1}`}, `.repeat(9)}x]`).join("\n")}`,
    ],
  ])("%s", (_, text) => {
    expect(() => parseYaml(text)).toThrow(YamlSyntaxError)
  })
})
