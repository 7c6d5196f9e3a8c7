// SPDX-License-Identifier: Apache-2.0
// Recorded calls: the number of templates is bounded whatever callers send, counts add up, and reading returns what was
// written.

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parseTemplate } from "../authorization/path-template.js"
import { ShapeError } from "../shape/shape.js"
import { anyCodePoint } from "../testing/any-code-point.js"
import { CALL_STAGES, callKey, type ObservedCall } from "./call.js"
import { readCall, readCalls, writeCall } from "./call-codec.js"
import { CallSet } from "./call-set.js"
import { OVERFLOW_PATH, PathTemplates } from "./path-templates.js"

const CALL: ObservedCall = {
  caller: "spiffe://cluster.local/ns/app/sa/consumer",
  workload: "foo/httpbin-1",
  port: 8080,
  protocol: "http",
  method: "GET",
  path: "/status/{*}",
  tls: true,
  verdict: "allow",
  stage: "allow",
  rule: { policy: "foo/httpbin", rule: 0 },
  firstSeen: 1_000,
  lastSeen: 2_000,
  count: 3,
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@"
/** As fast-check's own, which makes a table of all characters first. */
const webPath = fc
  .array(
    fc.string({
      unit: fc.oneof(
        { weight: 10, arbitrary: fc.constantFrom(...Array.from(LETTERS)) },
        { weight: 1, arbitrary: anyCodePoint.map(encodeURIComponent) },
      ),
    }),
  )
  .map(segments => segments.map(segment => `/${segment}`).join(""))

describe("a path as a template", () => {
  it.each([
    ["/", "/", "the root"],
    ["/status/200", "/status/{*}", "a number"],
    ["/v2/users", "/v2/users", "a version is a name"],
    ["/users/4711/orders/17", "/users/{*}/orders/{*}", "several numbers"],
    ["/f/6ba7b810-9dad-11d1-80b4-00c04fd430c8", "/f/{*}", "a UUID"],
    ["/c/9fceb02d0ae598e95dc970b74767f19372d61af8", "/c/{*}", "a hash"],
    ["/cafe/facade", "/cafe/facade", "words of the letters of hexadecimal numbers"],
    ["/u/jane@example.com", "/u/{*}", "an address of a person"],
    ["/s/a%2fb", "/s/{*}", "an escape"],
    [`/t/${"x".repeat(41)}`, "/t/{*}", "a long segment"],
    ["/k/sk4live51H2eZ93kq", "/k/{*}", "what may be a key"],
    ["/a/b/", "/a/b/", "a slash at the end"],
    ["/a//b", "/a//b", "an empty segment"],
    ["/users/{*}/orders", "/users/{*}/orders", "a template"],
    ["/x/{**}", "/x/{**}", "a template with any rest"],
    ["*", OVERFLOW_PATH, "what is no path"],
    [`/${"a/".repeat(20)}`, `/${"a/".repeat(12)}{**}`, "a deep path"],
  ])("%s is %s: %s", (path, template) => {
    expect(new PathTemplates().of(path)).toBe(template)
  })

  it("generalises a segment that turns out to have many values", () => {
    const templates = new PathTemplates()
    for (let n = 0; n < 32; n++) templates.of(`/users/${word(n)}/orders`)
    expect(templates.of("/users/zoe/orders")).toBe("/users/{*}/orders")
    expect(templates.of("/users/aa/orders")).toBe("/users/{*}/orders")
    expect(templates.of("/health")).toBe("/health")
  })

  it("yields so many and no more, whatever is asked for, and what it yields it keeps", () => {
    fc.assert(
      fc.property(fc.array(webPath, { maxLength: 300 }), paths => {
        const templates = new PathTemplates(64)
        const yielded = new Set(paths.map(path => templates.of(path)))
        expect(yielded.size).toBeLessThan(64 + 64 * 12)
        const fresh = new PathTemplates()
        for (const path of paths.slice(0, 20)) {
          const template = fresh.of(path)
          expect(new PathTemplates().of(template)).toBe(template)
        }
      }),
      { numRuns: 20 },
    )
  })

  it("ends at one place for all paths of a template, and at no other's", () => {
    const segment = fc.constantFrom(
      "",
      "a",
      "b",
      "v2",
      "4711",
      "17",
      "{*}",
      "{**}",
      "x y",
      "cafe",
      "9fceb02d0a",
      "q".repeat(41),
    )
    const path = fc.array(segment, { minLength: 1, maxLength: 14 }).map(segments => `/${segments.join("/")}`)
    fc.assert(
      fc.property(fc.array(path, { maxLength: 60 }), fc.constantFrom(8, 512), (paths, places) => {
        const templates = new PathTemplates(places)
        for (const one of paths) templates.of(one)
        const known = new Map<unknown, string>()
        for (const one of paths) {
          const place = templates.placeOf(one)
          const template = templates.of(one)
          if (place === undefined) expect(template).toMatch(/\{\*\*\}$/)
          else expect(known.get(place) ?? template).toBe(template)
          if (place !== undefined) known.set(place, template)
        }
        expect(new Set(known.values()).size).toBe(known.size)
      }),
    )
  })

  it("ends nowhere that is known where no such path came before", () => {
    const templates = new PathTemplates()
    templates.of("/users/4711/orders")
    for (const path of ["/users/7/orders", "/users/{*}/orders"]) {
      expect(templates.placeOf(path)).toBe(templates.placeOf("/users/4711/orders"))
    }
    for (const path of ["/users/7/things", "/users/jane/orders", "/users/7", "users", "/x"]) {
      const before = templates.placeOf(path)
      expect(before).not.toBe(templates.placeOf("/users/4711/orders"))
      expect(path === "/users/7" || before === undefined).toBe(true)
    }
  })

  it("yields what a policy may name", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 6 }), segments => {
        const template = new PathTemplates().of(`/${segments.join("/")}`)
        const literal = template.replaceAll(/\/+/g, "/")
        if (literal !== "/") expect(parseTemplate(literal)).toHaveProperty("head")
      }),
    )
  })
})

describe("a set of calls", () => {
  it("adds up calls of one shape and keeps the first and the last time", () => {
    const set = new CallSet(10)
    set.add(CALL)
    set.add({ ...CALL, firstSeen: 500, lastSeen: 900, count: 2 })
    expect([...set.values()]).toEqual([{ ...CALL, firstSeen: 500, lastSeen: 2_000, count: 5 }])
  })

  it("drops the calls observed longest ago, and counts them", () => {
    const set = new CallSet(10)
    for (let n = 0; n < 11; n++) set.add({ ...CALL, port: 1 + n, lastSeen: 10_000 - n })
    expect(set.size).toBe(10)
    expect(set.forgotten).toBe(1)
    expect([...set.values()].map(({ port }) => port)).not.toContain(11)
  })

  it("never exceeds its limit", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300)), ports => {
        const set = new CallSet(20)
        for (const port of ports) set.add({ ...CALL, port })
        expect(set.size).toBeLessThanOrEqual(20)
        expect(set.forgotten + set.size).toBeGreaterThanOrEqual(Math.min(20, new Set(ports).size))
      }),
    )
  })
})

const rule = fc.record({ policy: fc.constantFrom("foo/a", "foo/b"), rule: fc.nat(9) })
const call: fc.Arbitrary<ObservedCall> = fc.record(
  {
    caller: fc.constantFrom("spiffe://cluster.local/ns/a/sa/b"),
    address: fc.constantFrom("10.0.0.1", "*"),
    from: fc.constantFrom("app/sleep"),
    workload: fc.constantFrom("foo/httpbin-1", "bar/web"),
    port: fc.nat(65_535),
    protocol: fc.constantFrom("http" as const, "tcp" as const),
    method: fc.constantFrom("GET", "POST"),
    path: fc.constantFrom("/", "/a/{*}"),
    tls: fc.boolean(),
    issuer: fc.constantFrom("https://issuer"),
    verdict: fc.constantFrom("allow" as const, "deny" as const),
    stage: fc.constantFrom(...CALL_STAGES),
    rule,
    audit: rule,
    shadow: fc.record(
      { verdict: fc.constantFrom("allow" as const, "deny" as const), rule },
      { requiredKeys: ["verdict"] },
    ),
    count: fc.integer({ min: 1 }),
    firstSeen: fc.nat(),
    lastSeen: fc.integer({ min: 2 ** 31, max: 2 ** 40 }),
  },
  { requiredKeys: ["workload", "port", "protocol", "tls", "verdict", "stage", "count", "firstSeen", "lastSeen"] },
)

describe("calls as JSON", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(call, written => {
        const read = readCall(JSON.parse(JSON.stringify(writeCall(written))))
        expect(read).toEqual(written)
        expect(callKey(read)).toBe(callKey(written))
      }),
    )
  })

  it.each([
    [{ port: 65_536 }, "call.port: must be a whole number from 0 to 65535; it is 65536"],
    [{ path: "x".repeat(1_025) }, "call.path: must be a text of 1 to 1024 characters"],
    [{ verdict: "maybe" }, "call.verdict: must be one of allow, deny"],
    [{ count: 0 }, "call.count: must be a whole number from 1"],
    [{ workload: "foo" }, "call.workload: must be `namespace/name`"],
    [{ token: "eyJ" }, "call.token: unknown field"],
    [{ rule: { policy: "foo/a", rule: -1 } }, "call.rule.rule: must be a whole number"],
    [{ shadow: { verdict: "deny", why: 1 } }, "call.shadow.why: unknown field"],
    [{ lastSeen: "yesterday" }, "call.lastSeen: must be a time"],
    [{ lastSeen: "1969-01-01T00:00:00Z" }, "call.lastSeen: must not be before firstSeen"],
  ])("with %j are rejected by name", (wrong, message) => {
    expect(() => readCall({ ...writeCall(CALL), ...wrong })).toThrow(new RegExp(literally(message)))
  })

  it("are read from a list of the API as from a plain one, and no more than asked for", () => {
    const items = [writeCall(CALL)]
    expect(readCalls({ kind: "CallList", items }, 1)).toEqual([CALL])
    expect(readCalls(items, 1)).toEqual([CALL])
    expect(() => readCalls([...items, ...items], 1)).toThrow(ShapeError)
    expect(() => readCalls("x", 1)).toThrow(ShapeError)
  })
})

const literally = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** Distinct words without digits. */
const word = (n: number): string => String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26))
