// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { readCookies, withoutCookies } from "./cookies.js"
import { finderOf } from "./finder.js"
import { locationsOf } from "./locations.js"
import { readParameters, withoutParameters } from "./query.js"
import { type RequestParts, request } from "./testing/stage.js"

/** The texts that a rule finds, in collection order. */
function found(rule: JwtRule, parts: RequestParts): string[] {
  const locations = locationsOf(rule)
  const finder = finderOf(locations)
  const { bySlot } = finder.find(request(parts))
  return locations.flatMap(location => (bySlot[finder.slotOf(location)] ?? []).map(({ text }) => text))
}

const authorization = (value: string | string[]) => ({ headers: { authorization: value } })

describe("the default places", () => {
  it.each([
    ["Bearer a.b.c", ["a.b.c"]],
    ["bearer a.b.c", ["a.b.c"]],
    ["BEARER a.b.c", ["a.b.c"]],
    ["Bearer    a.b.c", ["a.b.c"]],
    [" Bearer a.b.c ", ["a.b.c"]],
    ['Bearer "a.b.c"', ['a.b.c"']],
    ["Bearer a.b.c junk", ["a.b.c junk"]],
    ["Bearer a.b.c, Bearer d.e.f", ["a.b.c, Bearer d.e.f"]],
    ["Bearer", []],
    ["Bearer ", []],
    ["Bearer !!", ["Bearer !!"]],
    ["Basic YTpi", []],
    ["Basic Bearer a.b.c", []],
    ["Bearer\ta.b.c", ["a.b.c"]],
    ["bearer \t a.b.c", ["a.b.c"]],
    ["Bearer\u00a0a.b.c", ["a.b.c"]],
    ["Bearer,a.b.c", ["a.b.c"]],
    ['Bearer"a.b.c"', ['a.b.c"']],
    ["Bearer=a.b.c", ["a.b.c"]],
    ["Bearera.b.c", []],
    ["Bearer-a.b.c", []],
    ["Bearer\t", []],
    ["xBearer a.b.c", []],
    ["", []],
  ])("finds in `Authorization: %s` %j", (value, tokens) => {
    expect(found({}, authorization(value))).toEqual(tokens)
  })

  it("finds every line of the header, then the parameter", () => {
    const parts = { ...authorization(["Bearer a", "Basic x", "bearer b"]), target: "/?access_token=c" }
    expect(found({}, parts)).toEqual(["a", "b", "c"])
  })

  it("are off as soon as a rule names any place", () => {
    const parts = { ...authorization("Bearer a"), target: "/?access_token=b" }
    expect(found({ fromCookies: ["x"] }, parts)).toEqual([])
    expect(found({ fromParams: ["access_token"] }, parts)).toEqual(["b"])
    expect(found({ fromHeaders: [], fromParams: [], fromCookies: [] }, parts)).toEqual(["a", "b"])
  })
})

describe("named places", () => {
  it("are read headers first, by name and prefix, then parameters, then cookies", () => {
    const rule: JwtRule = {
      fromHeaders: [{ name: "X-B" }, { name: "x-a", prefix: "Q " }, { name: "X-A", prefix: "P " }],
      fromParams: ["z", "y"],
      fromCookies: ["d", "c"],
    }
    const headers = { "x-b": "1", "x-a": ["Q 2", "P 3"], cookie: "c=6; d=7" }
    expect(found(rule, { headers, target: "/?z=5&y=4" })).toEqual(["3", "2", "1", "4", "5", "6", "7"])
  })

  it.each([
    ["x-jwt", "", "anything at all", ["anything at all"]],
    ["x-jwt", "", "", [""]],
    ["x-jwt", "Token ", "Token abc", ["abc"]],
    ["x-jwt", "Token ", "token abc", []],
    ["x-jwt", "Token ", "see Token abc", []],
    ["x-jwt", "jwt=", "jwt=abc", ["abc"]],
    ["x-jwt", "jwt", "jwt: abc", ["abc"]],
    ["Authorization", "JWT ", "jwt abc", ["abc"]],
    ["Authorization", "Bearer", "bearer abc", ["abc"]],
    ["Authorization", "Bearer  ", "bearer abc", ["abc"]],
    ["Authorization", "JWT ", "JWT\tabc", ["abc"]],
    ["x-jwt", "Token ", "Token\tabc", []],
    ["Authorization", "a b ", "A b abc", []],
    ["Proxy-Authorization", "Bearer ", "bEARER abc", ["abc"]],
  ])("reads `%s` with prefix %j from %j", (name, prefix, value, tokens) => {
    expect(found({ fromHeaders: [{ name, prefix }] }, { headers: { [name]: value } })).toEqual(tokens)
  })

  it("makes one spot for a header line that two rules read differently", () => {
    const finder = finderOf(locationsOf({ fromHeaders: [{ name: "x" }, { name: "x", prefix: "T " }] }))
    const { spots, bySlot } = finder.find(request({ headers: { x: "T abc" } }))
    expect(spots).toHaveLength(1)
    expect(bySlot.flat().map(item => item?.text)).toEqual(["T abc", "abc"])
  })

  it("rejects tokens after the sixteenth without parsing them", () => {
    const finder = finderOf(locationsOf({}))
    const lines = Array.from({ length: 20 }, (_, index) => `Bearer ${index}`)
    const readings = finder.find(request(authorization(lines))).bySlot[0]?.map(({ reading }) => reading)
    expect(readings?.filter(reading => reading === "JwtBadFormat")).toHaveLength(4)
  })
})

describe("query parameters", () => {
  const read = (target: string) => {
    const values: string[] = []
    readParameters(target, new Map([["access_token", 0]]), (_, __, value) => values.push(value))
    return values
  }

  it.each([
    ["/", []],
    ["/?", []],
    ["/?access_token=a", ["a"]],
    ["/?a=1&access_token=a", ["a"]],
    ["/?access_token=a&access_token=b", ["a"]],
    ["/?access_token=", [""]],
    ["/?access_token", [""]],
    ["/?access%5Ftoken=a", ["a"]],
    ["/?access%5ftoken=%61%2Eb", ["a.b"]],
    ["/?access_token=a%zz%", ["a%zz%"]],
    ["/?access_token=a=b", ["a=b"]],
    ["/?x=?access_token=a", []],
    ["/?Access_token=a", []],
    ["/access_token=a", []],
  ])("in %s are %j", (target, values) => {
    expect(read(target)).toEqual(values)
  })

  it.each([
    ["/get?access_token=t&a=1", "/get?a=1"],
    ["/get?a=1&access_token=t", "/get?a=1"],
    ["/get?access_token=t", "/get"],
    ["/get?access_token=t&access%5Ftoken=u&b=%20+c", "/get?b=%20+c"],
    ["/get?a=1", "/get?a=1"],
    ["/get", "/get"],
  ])("are taken out of %s, which leaves %s", (target, rest) => {
    expect(withoutParameters(target, new Set(["access_token"]), new Set())).toBe(rest)
  })

  it("lose only their repeats if they are forwarded", () => {
    const repeats = new Set(["t"])
    expect(withoutParameters("/?t=1&a=2&t=3", new Set(), repeats)).toBe("/?t=1&a=2")
  })

  it("are hidden from every reader once removed", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("t", "%74", "=", "&", "a", "+", "%", "?", "1")), pieces => {
        const rest = withoutParameters(`/?${pieces.join("")}`, new Set(["t"]), new Set())
        expect(new URL(rest, "http://h").searchParams.has("t")).toBe(false)
      }),
    )
  })
})

describe("cookies", () => {
  const read = (...lines: string[]) => {
    const values: string[] = []
    readCookies(lines, new Map([["t", 0]]), (_, __, value) => values.push(value))
    return values
  }

  it.each([
    [["t=a"], ["a"]],
    [["x=1; t=a"], ["a"]],
    [["x=1", "t=a"], ["a"]],
    [["t=a; t=b"], ["a"]],
    [['t="a"'], ["a"]],
    [['t="a'], ['"a']],
    [["t="], [""]],
    [[" t = a ;x=1"], ["a"]],
    [["T=a; xt=b; t"], []],
    [["t=a=b"], ["a=b"]],
  ])("in %j are %j", (lines, values) => {
    expect(read(...lines)).toEqual(values)
  })

  it("leave the others in one line when they are removed", () => {
    const all = new Set(["t"])
    expect(withoutCookies(["a=1; t=x", "t=y;b=2; flag"], all, new Set())).toBe("a=1; b=2; flag")
    expect(withoutCookies(["t=x"], all, new Set())).toBe("")
    expect(withoutCookies(["t=x; a=1; t=y"], new Set(), all)).toBe("t=x; a=1")
  })
})
