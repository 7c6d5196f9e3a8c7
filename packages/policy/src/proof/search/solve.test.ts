// SPDX-License-Identifier: Apache-2.0
// Tests each cut of the search separately: each case has a result that a search with a faulty cut would miss.

import { describe, expect, it, test } from "vitest"
import { Budget, Exhausted } from "../budget.js"
import { textDimension } from "../classes/dimension.js"
import { ANY_TEXT } from "../classes/language.js"
import { textMark } from "../read-criterion.js"
import { type Condition, type Problem, type Region, region } from "./formula.js"
import { solve } from "./solve.js"

const method = textDimension("method", { language: ANY_TEXT, preferred: ["GET", "POST"] })
const path = textDimension("path", { language: ANY_TEXT, preferred: ["/"] })
const groups = textDimension("groups", { language: ANY_TEXT }, true)

type Where = typeof method
const is = (dimension: Where, ...values: string[]): Condition => ({
  dimension,
  negated: false,
  marks: values.map(value => textMark(value, "wildcard")),
})
const not = (dimension: Where, ...values: string[]): Condition => ({ ...is(dimension, ...values), negated: true })
const either = (...conditions: Condition[]): Region => ({
  key: JSON.stringify(
    conditions.map(({ dimension, negated, marks }) => [dimension.name, negated, marks.map(({ key }) => key)]),
  ),
  groups: [conditions.map(condition => ({ conditions: [condition], opaque: false }))],
})
const problem = (needs: readonly (readonly Region[])[], ...bans: Region[]): Problem => ({ needs, bans })
const found = (asked: Problem) => {
  const solution = solve(asked, new Budget())
  return solution && Object.fromEntries([...solution].map(([dimension, value]) => [dimension.name, value]))
}

describe("the search finds", () => {
  test.each<[string, Problem, object]>([
    ["a value that a ban spares by name", problem([], region(not(path, "/a"))), { path: "/a" }],
    [
      "what the second branch has, after the first led nowhere",
      problem(
        [[region(is(method, "GET", "POST"))]],
        region(is(method, "GET"), is(path, "*")),
        region(is(method, "GET"), not(path, "*")),
        region(is(method, "POST"), is(path, "/")),
        region(is(method, "POST"), is(path, "/b")),
        region(is(method, "POST"), is(path, "/c")),
      ),
      { method: "POST" },
    ],
    [
      "the alternative that another need leaves",
      problem([[either(is(method, "X"), is(path, "/x"))], [region(is(method, "Y"))]]),
      { method: "Y", path: "/x" },
    ],
    ["an element that keeps a ban from holding", problem([], region(not(groups, "a"))), { groups: ["a"] }],
    [
      "two elements, one for each need",
      problem([[region(is(groups, "a"))], [region(is(groups, "b"))]]),
      { groups: ["a", "b"] },
    ],
    [
      "no element that a ban forbids beside the one it needs",
      problem([[region(is(groups, "a", "b"))]], region(is(groups, "a"))),
      { groups: ["b"] },
    ],
    [
      "one of the alternatives of a need",
      problem([[either(is(method, "X"), is(path, "/x"))]], region(is(method, "X"))),
      { path: "/x" },
    ],
    [
      "one region of a need that a ban leaves",
      problem([[region(is(path, "/a")), region(is(path, "/b"))]], region(is(path, "/a"))),
      { path: "/b" },
    ],
    [
      "what lies beside a ban of two conditions",
      problem([[region(is(path, "/a"))]], region(is(path, "/a"), is(method, "GET"))),
      { path: "/a" },
    ],
  ])("%s", (_, asked, expected) => {
    expect(found(asked)).toMatchObject(expected)
  })
})

describe("the search proves that there is no solution", () => {
  test.each<[string, Problem]>([
    ["where a ban takes a need whole", problem([[region(is(path, "/a"))]], region(is(path, "/a")))],
    [
      "where bans take a need together",
      problem([[region(is(path, "/a*"))]], region(is(path, "/a")), region(is(path, "/a*"), not(path, "/a"))),
    ],
    ["where two needs want different values", problem([[region(is(path, "/a"))], [region(is(path, "/b"))]])],
    [
      "where every alternative is banned",
      problem([[either(is(method, "X"), is(path, "/x"))]], region(is(method, "X")), region(is(path, "/x"))),
    ],
    ["where a ban is everywhere", problem([], region())],
    ["where a need has no region", problem([[]])],
    ["where an element is needed and forbidden", problem([[region(is(groups, "a"))]], region(is(groups, "*")))],
  ])("%s", (_, asked) => {
    expect(found(asked)).toBeUndefined()
  })
})

it("treats a part that it does not model as met in a need and as never met in a ban", () => {
  const dark: Region = { key: "dark", groups: [[{ conditions: [is(path, "/a")], opaque: true }]] }
  expect(found(problem([[dark]]))).toMatchObject({ path: "/a" })
  expect(found(problem([[region(is(path, "/a"))]], { ...dark, key: "other" }))).toMatchObject({ path: "/a" })
  const half = { key: "half", groups: [[...(dark.groups[0] ?? []), { conditions: [is(path, "/b")], opaque: false }]] }
  expect(found(problem([[region(is(path, "/a"))]], half))).toMatchObject({ path: "/a" })
})

it("gives up if the budget is too small, instead of reporting no solution", () => {
  const asked = problem([[region(is(path, "/a*"))]], region(is(path, "/a")))
  expect(() => solve(asked, new Budget({ steps: 3 }))).toThrow(Exhausted)
  let now = 0
  const late = new Budget({ steps: 1_000_000, deadline: 5, now: () => (now += 10) })
  expect(() => late.checkTime()).toThrow(Exhausted)
})
