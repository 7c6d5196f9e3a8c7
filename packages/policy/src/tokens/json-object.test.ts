// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parseJsonObject, parseUnambiguousJsonObject } from "./json-object.js"

const parse = (text: string) => parseJsonObject(Buffer.from(text))

describe("untrusted JSON objects", () => {
  it("treats `__proto__` and `constructor` as ordinary names", () => {
    const object = parse('{"__proto__":{"admin":true},"constructor":1,"a":{"__proto__":"x"}}')
    expect(Object.keys(object ?? {})).toEqual(["__proto__", "constructor", "a"])
    expect(object?.admin).toBeUndefined()
    expect(Object.getPrototypeOf(object)).toBeNull()
    expect(Object.getPrototypeOf(object?.a)).toBeNull()
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })

  it("freezes its result deeply", () => {
    const object = parse('{"a":{"b":[{"c":1}]}}')
    expect(Object.isFrozen(object)).toBe(true)
    expect(Object.isFrozen(object?.a)).toBe(true)
    expect(() => Object.assign(object ?? {}, { a: 1 })).toThrow(TypeError)
  })

  it("uses the last of two members with the same name", () => {
    expect(parse('{"a":1,"a":2}')?.a).toBe(2)
  })

  it.each([
    ['{"a":1,"a":2}', false],
    ['{"a":1,"\\u0061":2}', false],
    ['{"b":[{"a":{"__proto__":1,"__proto__" : 1}}]}', false],
    ['{"a":{"a":["a",":\\":",{"a":"\\\\"}]},"__proto__":{},"\\"a":"b:"}', true],
  ])("says of %s whether each name occurs once", (text, isUnambiguous) => {
    expect(parseUnambiguousJsonObject(Buffer.from(text)) !== undefined).toBe(isUnambiguous)
  })

  it("finds each name once in what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), value => {
        const bytes = Buffer.from(JSON.stringify(value, undefined, 1))
        expect(parseUnambiguousJsonObject(bytes)).toEqual(parseJsonObject(bytes))
      }),
    )
  })

  it("bounds the depth", () => {
    const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`
    expect(parse(nested(31))).toBeDefined()
    expect(parse(nested(32))).toBeUndefined()
    expect(parse(nested(30_000))).toBeUndefined()
  })

  it.each(["", "null", "[]", '"a"', "1", "{", "{}x", "\ufeff{}", "{'a':1}", "NaN"])("rejects %j", text => {
    expect(parse(text)).toBeUndefined()
  })

  it("rejects bytes that are not UTF-8", () => {
    expect(parseJsonObject(Buffer.from('{"a":"\xff"}', "latin1"))).toBeUndefined()
  })

  it("agrees with JSON.parse on what it accepts and never throws", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.json({ maxDepth: 5 }), fc.string(), fc.dictionary(fc.string(), fc.jsonValue())),
        input => {
          const text = typeof input === "string" ? input : JSON.stringify(input)
          const object = parse(text)
          if (object !== undefined) expect(JSON.stringify(object)).toBe(JSON.stringify(JSON.parse(text)))
        },
      ),
    )
  })
})
