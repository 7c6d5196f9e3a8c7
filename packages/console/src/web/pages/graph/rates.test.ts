// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import type { Edge } from "./edges.js"
import { type History, rateOf, remembered } from "./rates.js"

const edge = (allowed: number, denied = 0): Edge => ({
  ...{ from: "a", to: "b", allowed, denied, plaintext: 0, isMtls: true, calls: [] },
})

function resultOf(...counts: readonly (readonly [at: number, edges: readonly Edge[]])[]): History {
  return counts.reduce<History>((history, [at, edges]) => remembered(history, edges, at), [])
}

it("returns no rate for a single count, a repeated one, or a span of a few seconds", () => {
  expect(rateOf(resultOf(), "a b")).toBeUndefined()
  expect(rateOf(resultOf([0, [edge(5)]]), "a b")).toBeUndefined()
  expect(rateOf(resultOf([0, [edge(5)]], [0, [edge(5)]]), "a b")).toBeUndefined()
  expect(rateOf(resultOf([0, [edge(5)]], [3_000, [edge(25)]]), "a b")).toBeUndefined()
})

it("is the increase per minute", () => {
  expect(rateOf(resultOf([0, [edge(5, 1)]], [30_000, [edge(15, 2)]]), "a b")).toEqual({ allowed: 20, denied: 2 })
})

it("counts a new edge from zero", () => {
  expect(rateOf(resultOf([0, []], [60_000, [edge(3)]]), "a b")).toEqual({ allowed: 3, denied: 0 })
})

it("does not go below zero when old calls fall out of the count", () => {
  expect(rateOf(resultOf([0, [edge(9)]], [60_000, [edge(4)]]), "a b")).toEqual({ allowed: 0, denied: 0 })
})

it("forgets counts from before the last minute", () => {
  const history = resultOf([0, [edge(0)]], [60_000, [edge(600)]], [120_000, [edge(606)]], [180_000, [edge(612)]])
  expect(rateOf(history, "a b")).toEqual({ allowed: 6, denied: 0 })
  expect(history.length).toBeLessThanOrEqual(3)
})
