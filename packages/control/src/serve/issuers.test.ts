// SPDX-License-Identifier: Apache-2.0
import { keySetId } from "@merlon/policy/tokens"
import { expect, it } from "vitest"
import { issuerOf, issuersOf } from "./issuers.js"

const state = (id: string, error: string | undefined) => ({
  id,
  jwks: undefined,
  keys: 0,
  fetchedAt: error === undefined ? 7 : undefined,
  nextFetchAt: undefined,
  error,
})

it.each([
  [{ issuer: "https://a.example" }, "https://a.example"],
  [{ issuer: "a", jwksUri: "https://keys.example" }, "a"],
  [{ jwksUri: "https://keys.example" }, "https://keys.example"],
])("reads the issuer of %o from its id", (rule, issuer) => {
  expect(issuerOf(keySetId(rule))).toBe(issuer)
})

it("lists each issuer whose keys are needed, and whether they were fetched", () => {
  const [good, bad] = [keySetId({ issuer: "good" }), keySetId({ issuer: "bad" })]
  const states = new Map([
    [good, state(good, undefined)],
    [bad, state(bad, "answered 500")],
  ])
  expect([...issuersOf({ needed: new Set([good, bad]), get: id => states.get(id) })]).toEqual([
    { issuer: "good", fetchedAt: 7, failing: false },
    { issuer: "bad", fetchedAt: undefined, failing: true },
  ])
})

it("returns none until the needed issuers are known", () => {
  expect([...issuersOf({ needed: undefined, get: () => undefined })]).toEqual([])
})
