// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { contains } from "./apply.js"

describe("whether an object already has the wanted fields", () => {
  it.each<[string, unknown, unknown, boolean]>([
    ["the same", { a: 1 }, { a: 1 }, true],
    ["more than wanted", { a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } }, true],
    ["another value", { a: 1 }, { a: 2 }, false],
    ["less than wanted", {}, { a: 1 }, false],
    ["members of a list with more fields", { a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] }, true],
    ["a longer list", { a: [1, 2] }, { a: [1] }, false],
    ["another order", { a: [1, 2] }, { a: [2, 1] }, false],
    ["a list for an object", { a: [] }, { a: {} }, false],
    ["nothing for an object", { a: null }, { a: {} }, false],
    ["a field that is only inherited", {}, { constructor: {} }, false],
    ["a wanted field that is undefined", {}, { a: undefined }, true],
  ])("%s", (_, actual, received, expected) => {
    expect(contains(actual, received)).toBe(expected)
  })
})
