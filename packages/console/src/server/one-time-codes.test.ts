// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto"
import { describe, expect, it, test } from "vitest"
import { OneTimeCodes } from "./one-time-codes.js"

const key = randomBytes(32)

it("takes a code from another holder of the key", () => {
  expect(new OneTimeCodes(key).take(new OneTimeCodes(key).make())).toBe(true)
})

it("takes a code once", () => {
  const codes = new OneTimeCodes(key)
  const code = codes.make()
  expect([codes.take(code), codes.take(code)]).toEqual([true, false])
})

it("rejects a code that is too old", () => {
  let now = 1_000
  const codes = new OneTimeCodes(key, () => now)
  const code = codes.make()
  now += 2 * 60_000
  expect(codes.take(code)).toBe(false)
})

describe("rejects", () => {
  const code = new OneTimeCodes(key).make()
  test.each([
    ["that is empty", ""],
    ["of another key", new OneTimeCodes(randomBytes(32)).make()],
    ["with a later end", code.replace(/^\d/, "9")],
    ["with another nonce", code.replace(/\.(.)/, (_, first) => `.${first === "A" ? "B" : "A"}`)],
    ["without its seal", code.replace(/\.[\w-]+$/, ".")],
    ["with more behind it", `${code}x`],
  ])("%s", (_, forged) => {
    expect(new OneTimeCodes(key).take(forged)).toBe(false)
  })
})
