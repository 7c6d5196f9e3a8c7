// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import {
  choice,
  flag,
  list,
  object,
  openObject,
  optional,
  orElse,
  type Read,
  record,
  ShapeError,
  settings,
  someText,
  text,
  whole,
} from "./shape.js"

const port = whole(1, 65_535)
const strict = object<{ name: string; port?: number }>({ name: text(5), port: optional(port) })
const open = openObject<{ name: string; port?: number }>({ name: text(5), port: optional(port) })
const people = settings({
  name: orElse(someText, "web"),
  listen: settings({ host: orElse(someText, "0.0.0.0"), port: optional(port) }),
})

describe("is read", () => {
  it.each<[string, Read<unknown>, unknown, unknown]>([
    ["a field that may be absent, as absent", strict, { name: "a" }, { name: "a" }],
    ["what a newer writer says, without it", open, { name: "a", later: 1 }, { name: "a" }],
    ["an empty file, as what is usual", people, undefined, { name: "web", listen: { host: "0.0.0.0" } }],
    ["a blank field, as absent", people, { name: null, listen: null }, { name: "web", listen: { host: "0.0.0.0" } }],
    ["a text of the largest size", text(3, 1), "abc", "abc"],
    ["a list, each of its items", list(2, flag), [true, false], [true, false]],
  ])("%s", (_, read, value, expected) => {
    expect(read(value, "")).toEqual(expected)
  })

  it("a key that has a meaning in JavaScript, as any other", () => {
    const value: unknown = JSON.parse('{"__proto__": 7, "constructor": 8}')
    expect(Object.entries(record(2, port)(value, ""))).toEqual([
      ["__proto__", 7],
      ["constructor", 8],
    ])
  })
})

describe("is rejected by name", () => {
  it.each<[string, Read<unknown>, unknown, string]>([
    ["a missing field", strict, {}, "at.name: must be a text of at most 5 characters; it is missing"],
    ["a long text", strict, { name: "abcdef" }, 'at.name: must be a text of at most 5 characters; it is "abcdef"'],
    ["an empty text where there must be one", text(5, 1), "", 'at: must be a text of 1 to 5 characters; it is ""'],
    ["a blank from the network", strict, { name: "a", port: null }, "at.port: must be a whole number from 1 to 65535"],
    ["a fraction", port, 1.5, "at: must be a whole number from 1 to 65535; it is 1.5"],
    ["another word", choice("http", "tcp"), "udp", 'at: must be one of http, tcp; it is "udp"'],
    ["one item too many", list(1, flag), [true, true], "at: must be a list of at most 1"],
    ["one entry too many", record(1, flag), { a: true, b: true }, "at: must have at most 1 entries"],
    ["a wrong item", list(2, flag), [true, 1], "at[1]: must be true or false; it is 1"],
    ["a list for a mapping", strict, [], "at: must be a mapping; it is []"],
    ["a misspelt field", strict, { nam: "a" }, "at.nam: unknown field; did you mean `name`?"],
    ["a field nobody knows", people, { colour: 1 }, "at.colour: unknown field; the fields are name, listen"],
    ["a field that every object has", strict, { name: "a", toString: 1 }, "at.toString: unknown field"],
  ])("%s", (_, read, value, message) => {
    expect(() => read(value, "at")).toThrow(message)
    expect(() => read(value, "at")).toThrow(ShapeError)
  })

  it("whatever it is called or holds, in a few words", () => {
    const long = "x".repeat(100_000)
    for (const value of [{ [long]: 1 }, { name: long }, long]) {
      expect(() => strict(value, "")).toThrow(/^.{1,300}$/)
    }
  })
})
