// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { readTraceParent, readTraceState, writeTraceParent } from "./trace-context.js"

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const SPAN = "00f067aa0ba902b7"
const GOOD = `00-${TRACE}-${SPAN}-01`

describe("traceparent", () => {
  it.each([
    [GOOD, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-ff`, true],
    [` ${GOOD} `, true],
    // A later version may add fields; the fields of version 00 stay in the same places.
    [`cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
    [`cc-${TRACE}-${SPAN}-01`, true],
  ])("reads `%s`", (line, sampled) => {
    expect(readTraceParent([line])).toEqual({ traceId: TRACE, spanId: SPAN, sampled })
  })

  it.each([
    ["nothing", []],
    ["two", [GOOD, GOOD]],
    ["an empty header", [""]],
    ["more than version 00 has", [`${GOOD}-more`]],
    ["an invalid version", [`ff-${TRACE}-${SPAN}-01`]],
    ["capital letters", [GOOD.toUpperCase()]],
    ["a trace of zeros", [`00-${"0".repeat(32)}-${SPAN}-01`]],
    ["a span of zeros", [`00-${TRACE}-${"0".repeat(16)}-01`]],
    ["a short trace", [`00-${TRACE.slice(1)}-${SPAN}-01`]],
    ["characters that are no digits", [`00-${TRACE.replace("4", "g")}-${SPAN}-01`]],
    ["text after the flags of a later version", [`cc-${TRACE}-${SPAN}-01.x`]],
  ])("ignores %s", (_, lines) => {
    expect(readTraceParent(lines)).toBeUndefined()
  })

  it("is written as it is read", () => {
    const read = readTraceParent([GOOD])
    expect(read && writeTraceParent(read)).toBe(GOOD)
  })
})

describe("tracestate", () => {
  it.each([
    [["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"], "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
    [["a=1 , b=2", "c=3"], "a=1,b=2,c=3"],
    [["tenant@vendor=x y"], "tenant@vendor=x y"],
    [["a=1,,b=2"], "a=1,b=2"],
  ])("reads %j", (lines, expected) => {
    expect(readTraceState(lines)).toBe(expected)
  })

  it.each([
    ["nothing", []],
    ["an empty header", [" "]],
    ["a member without value", ["a"]],
    ["a key twice", ["a=1,a=2"]],
    ["capital letters in a key", ["A=1"]],
    ["too many members", [Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(",")]],
    ["too much", [`a=${"x".repeat(256)}`, `b=${"x".repeat(256)}`]],
    ["a character that is not printable", ["a=\u0001"]],
  ])("ignores %s", (_, lines) => {
    expect(readTraceState(lines)).toBeUndefined()
  })
})
