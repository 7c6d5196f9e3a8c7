// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { claimTexts } from "../request/claim-text.js"
import { headerValue } from "./claim-header.js"
import { quoteInexactNumbers } from "./exact-numbers.js"
import { encode } from "./testing/issuer.js"
import { parseToken } from "./token.js"

function claimsOf(payload: string) {
  const token = parseToken(`${encode({ alg: "ES256" })}.${encode(payload)}.AAAA`)
  return typeof token === "string" ? token : token.claims
}

it.each([
  ["9007199254740993", "9007199254740993"],
  ["12345678901234567890", "12345678901234567890"],
  ["-9007199254740993", "-9007199254740993"],
  ["1e999", "1e999"],
  ["1e-999", "1e-999"],
  ["9007199254740991", "9007199254740991"],
  ["0.1234567890123456789", "0.1234567890123456789"],
  ["5", "5"],
  ["5.0", "5"],
  ["1.5000000000000000000", "1.5"],
  ["1e3", "1000"],
  ["100000000000000000000", "100000000000000000000"],
  ["-0", "0"],
])("compares the number %s as %s", (written, text) => {
  expect(claimsOf(`{"c":${written}}`)).toMatchObject({ c: expect.anything() })
  const claims = claimsOf(`{"c":${written},"list":[${written}]}`)
  if (typeof claims === "string") throw new Error(claims)
  expect(claimTexts(claims.c)).toBe(text)
  expect(claimTexts(claims.list)).toEqual([text])
})

it("writes an account number of many digits to a header exactly as signed", () => {
  const claims = claimsOf('{"account":12345678901234567890}')
  if (typeof claims === "string") throw new Error(claims)
  expect(headerValue(claims.account)).toBe("12345678901234567890")
})

it("rejects a number for a claim that must be a text", () => {
  expect(claimsOf('{"sub":12345678901234567890}')).toBe("JwtSubNotString")
  expect(claimsOf('{"iss":1e999}')).toBe("JwtIssNotString")
})

it("leaves strings alone, whatever they contain", () => {
  const payload = String.raw`{"a":"12345678901234567890","b\"12345678901234567890":"\\","c":12345678901234567890}`
  expect(claimsOf(payload)).toEqual({
    a: "12345678901234567890",
    'b"12345678901234567890': "\\",
    c: "12345678901234567890",
  })
})

it("changes only numbers in any JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const json = JSON.stringify(value)
      const quoted = quoteInexactNumbers(json)
      // JavaScript reads back exactly the numbers that it wrote.
      expect(quoted ?? json).toBe(json)
    }),
  )
})
