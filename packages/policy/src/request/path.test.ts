// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import type { PathNormalization } from "../mesh/config.js"
import { normalizePath, normalizeTarget } from "./path.js"

const modes: readonly PathNormalization[] = ["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"]

describe("normalizePath", () => {
  const same = Symbol("same")
  test.each<[string, string | typeof same, string | typeof same, string | typeof same]>([
    ["/app/../admin", "/admin", "/admin", "/admin"],
    ["/app//", "/app//", "/app/", "/app/"],
    ["/app/%2f", same, same, "/app/"],
    ["/xyz%30..//abc", "/xyz0..//abc", "/xyz0../abc", "/xyz0../abc"],
    ["/app/%2E./admin", "/admin", "/admin", "/admin"],
    ["/app\\admin", "/app/admin", "/app/admin", "/app/admin"],
    ["/app//../admin", "/app/admin", "/app/admin", "/app/admin"],
    ["/app//../../admin", "/admin", "/admin", "/admin"],
    [
      "/%5Capp%2f%5c%2F%2e%2e%2fadmin%5c\\abc",
      "/%5Capp%2f%5c%2F..%2fadmin%5c/abc",
      "/%5Capp%2f%5c%2F..%2fadmin%5c/abc",
      "/app/admin/abc",
    ],
    ["/%252e%252e/admin", same, same, same],
    ["/..;/admin", same, same, same],
    ["/Admin", same, same, same],
    ["/", same, same, same],
    ["/..", "/", "/", "/"],
    ["/a/.", "/a/", "/a/", "/a/"],
    ["/../../etc/passwd", "/etc/passwd", "/etc/passwd", "/etc/passwd"],
    ["/%7Euser/%41%5f%2D", "/~user/A_-", "/~user/A_-", "/~user/A_-"],
    ["/%c3%a9/%20/%zz/100%", same, same, same],
  ])("of %s", (path, base, merge, decode) => {
    const of = (expected: string | typeof same) => (expected === same ? path : expected)
    expect(modes.map(mode => normalizePath(path, mode))).toEqual([path, of(base), of(merge), of(decode)])
  })

  test.each(["/a%00b", "/%%32%65%%32%65/admin", "/%2%65%2%65/x", "/%%300"])(
    "rejects %s, which has no canonical form",
    path => {
      expect(modes.slice(1).map(mode => normalizePath(path, mode))).toEqual([undefined, undefined, undefined])
    },
  )

  it("rejects an escaped slash made of escapes where slashes are decoded", () => {
    expect(normalizePath("/a/%2%46/b", "DECODE_AND_MERGE_SLASHES")).toBeUndefined()
  })

  const hostile = fc
    .array(
      fc.constantFrom(
        "/",
        "//",
        ".",
        "..",
        "\\",
        "%",
        "%2",
        "2",
        "e",
        "f",
        "F",
        "%2e",
        "%2F",
        "%5c",
        "%25",
        "a",
        ";",
        "%41",
        "46",
        "65",
      ),
    )
    .map(pieces => `/${pieces.join("")}`)

  it.each(modes)("is idempotent (%s)", mode => {
    fc.assert(
      fc.property(hostile, path => {
        const once = normalizePath(path, mode)
        if (once !== undefined) expect(normalizePath(once, mode)).toBe(once)
      }),
      { numRuns: 3_000 * inject("effort") },
    )
  })

  it.each(modes.slice(1))("leaves no dot segment for the application to resolve (%s)", mode => {
    fc.assert(
      fc.property(hostile, path => {
        const segments = normalizePath(path, mode)?.split("/") ?? []
        expect(segments.filter(segment => segment === "." || segment === "..")).toEqual([])
      }),
      { numRuns: 3_000 * inject("effort") },
    )
  })
})

describe("normalizeTarget", () => {
  it("never changes the query", () => {
    expect(normalizeTarget("/a/../b?x=/../%2e\\//", "DECODE_AND_MERGE_SLASHES")).toEqual({
      path: "/b",
      query: "?x=/../%2e\\//",
    })
  })

  it("accepts `*` for OPTIONS", () => {
    expect(normalizeTarget("*", "BASE")).toEqual({ path: "*", query: "" })
  })

  test.each(["/a#b", "/a?b#c", "/a b", "/a\u0000", "/a\u007f", "/\u00e4", "/?\u4e2d", "a/b", "", "http://h/a"])(
    "rejects %j",
    target => {
      expect(normalizeTarget(target, "BASE")).toBeUndefined()
    },
  )
})
