// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { decodeBase64url, decodePaddedBase64url } from "./base64url.js"

describe("strict base64url", () => {
  it("decodes the canonical text of every byte string", () => {
    fc.assert(
      fc.property(fc.uint8Array(), bytes => {
        const text = Buffer.from(bytes).toString("base64url")
        expect(decodeBase64url(text)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it("accepts only one text for each byte string", () => {
    const alphabet = fc.constantFrom(...Array.from("ABCDQRghwxyz0189-_+/= .\n\u0141"))
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 12 }), characters => {
        const text = characters.join("")
        const bytes = decodeBase64url(text)
        if (bytes !== undefined) expect(bytes.toString("base64url")).toBe(text)
      }),
      { numRuns: 2000 * inject("effort") },
    )
  })

  it.each(["A", "AB", "AAB", "AA==", "AA=", "A A", "AA\n", "+/", "AAAAA", "AÁ"])("rejects %j", text => {
    expect(decodeBase64url(text)).toBeUndefined()
  })

  it.each([
    ["AA==", 1],
    ["AAA=", 2],
    ["AAAA", 3],
    ["AA", 1],
  ])("accepts exact padding where it is tolerated: %s", (text, bytes) => {
    expect(decodePaddedBase64url(text)?.length).toBe(bytes)
  })

  it.each(["AA=", "AAA==", "AAAA=", "AAAA====", "=", "==", "AB=="])("rejects inexact padding: %s", text => {
    expect(decodePaddedBase64url(text)).toBeUndefined()
  })
})
