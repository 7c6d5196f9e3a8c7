// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Json } from "../value.js"
import { JsonSyntaxError, parseJson, stringify } from "./json.js"

const message = (text: string): string => {
  try {
    parseJson(text)
    return "parsed"
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message
    throw error
  }
}

describe("parseJson", () => {
  it("reads the same values as JSON.parse", () => {
    fc.assert(
      fc.property(fc.json(), text => {
        // Integers beyond 2^53 and -0 are excluded, because the two must differ there.
        fc.pre(!/\d{16}/.test(text) && !text.includes("-0"))
        expect(parseJson(text).value).toEqual(JSON.parse(text))
      }),
    )
  })

  it("keeps 64-bit integers and converts larger ones to floats", () => {
    const text = "[9007199254740993,-9223372036854775808,12345678901234567890,1.0,1e3]"
    expect(parseJson(text).value).toEqual([9007199254740993n, -9223372036854775808n, 12345678901234567000, 1, 1000])
    expect(stringify(parseJson(text).value)).toBe("[9007199254740993,-9223372036854775808,12345678901234567000,1,1000]")
  })

  it("reports repeated keys by path, and the last one wins", () => {
    expect(parseJson('{"a":{"b":1,"b":2},"c":[{"d":1,"d":2}]}')).toEqual({
      value: { a: { b: 2 }, c: [{ d: 2 }] },
      duplicates: ["a.b", "c[0].d"],
    })
  })

  it.each([
    ["", "unexpected end of JSON input"],
    ['{"a": ', "unexpected end of JSON input"],
    ["not", "invalid character 'o' in literal null (expecting 'u')"],
    ["{a}", "invalid character 'a' looking for beginning of object key string"],
    ["[1 2]", "invalid character '2' after array element"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
    ["1 2", "invalid character '2' after top-level value"],
    ["x", "invalid character 'x' looking for beginning of value"],
    ['"\n"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ["-", "unexpected end of JSON input"],
  ])("rejects %j with Go's message", (text, expected) => expect(message(text)).toBe(expected))

  it("does not let a document change the prototype", () => {
    const { value } = parseJson('{"__proto__":{"x":1}}')
    expect(Object.keys(value as object)).toEqual(["__proto__"])
    expect(({} as { x?: number }).x).toBeUndefined()
    expect(stringify(value)).toBe('{"__proto__":{"x":1}}')
  })

  it("rejects nesting that would exhaust the stack", () => {
    expect(message("[".repeat(100_000))).toBe("exceeded max depth")
  })
})

describe("stringify", () => {
  it("writes documents with bigints like JSON.stringify", () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const json = value as Json
        const marked = stringify([json, 9007199254740993n], 2)
        expect(marked.replace("9007199254740993", "0")).toBe(JSON.stringify([json, 0], undefined, 2))
      }),
    )
  })
})
