// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import type { Ways } from "../../api/answers.js"
import { identitiesOf, mayCall } from "./may-matrix.js"

const way = (workload: string): Ways["ways"][number] => ({
  ...{ workload, callers: "", requests: "", limits: [], witness: { protocol: "http", sourceIp: "", port: 1 } },
})

test.each<readonly [string, Ways | undefined, string | undefined]>([
  ["nobody has asked", undefined, undefined],
  ["there is a way", { result: "proved", ways: [way("app/web")], undecided: [] }, "may"],
  ["there is a way to one of its Pods", { result: "proved", ways: [way("app/web-6d4-x")], undecided: [] }, "may"],
  ["there is none, proved", { result: "proved", ways: [way("app/other")], undecided: [] }, "may not"],
  [
    "it is not decided of it",
    { result: "undecided", ways: [], undecided: [{ workload: "app/web", reason: "" }] },
    undefined,
  ],
  [
    "it is not decided of another",
    { result: "undecided", ways: [], undecided: [{ workload: "app/other", reason: "" }] },
    "may not",
  ],
])("says of a workload, where %s: %s", (_, ways, expected) => {
  expect(mayCall(ways, "app/web")).toBe(expected)
})

it("names each identity once, of those that run and those that called", () => {
  const cell = { caller: "a/b", workload: "c/d", allowed: 1, refused: 0, plaintext: 0, lastPlaintext: "", lastMtls: "" }
  const cells = [
    { ...cell, rules: new Map(), principal: "td/ns/a/sa/b" },
    { ...cell, rules: new Map() },
  ]
  const found = identitiesOf(["td/ns/x/sa/y", "td/ns/a/sa/b"], cells, uri => uri.slice(-1))
  expect([...found]).toEqual([
    ["b", "td/ns/a/sa/b"],
    ["y", "td/ns/x/sa/y"],
  ])
})
