// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { editDistance, nearest } from "./nearest.js"

describe("nearest", () => {
  const fields = ["principals", "requestPrincipals", "namespaces", "ipBlocks", "jwksUri", "jwks"]
  it.each([
    ["principal", "principals"],
    ["prinicpals", "principals"],
    ["requestprincipal", "requestPrincipals"],
    ["jwks_uri", "jwksUri"],
    ["JWKS", "jwks"],
    ["ip-blocks", "ipBlocks"],
    ["x", undefined],
    ["audiences", undefined],
    ["p".repeat(100_000), undefined],
  ])("of `%s` is `%s`", (word, expected) => {
    expect(nearest(word, fields)).toBe(expected)
  })
})

describe("edit distance", () => {
  it.each([
    ["", "", 0],
    ["abc", "", 3],
    ["abc", "abd", 1],
    ["abc", "acb", 1],
    ["kitten", "sitting", 3],
  ])("from `%s` to `%s` is %i", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance)
    expect(editDistance(b, a)).toBe(distance)
  })
})
