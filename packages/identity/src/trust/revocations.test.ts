// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parseRevocations } from "./revocations.js"

const A = "spiffe://cluster.local/ns/foo/sa/a"
const B = "spiffe://cluster.local/ns/foo/sa/b"

describe("revocations", () => {
  it("are parsed by line, without comments, sorted, without duplicates", () => {
    const identities = `# left the company\n${B}\r\n\n  ${A}  # 2026-11-15\n${B}\n`
    expect(parseRevocations({ identities })).toEqual({ identities: [A, B], serials: [], errors: [] })
  })

  it("are empty without entries", () => {
    expect(parseRevocations({})).toEqual({ identities: [], serials: [], errors: [] })
  })

  it("may name identities as policies do", () => {
    expect(parseRevocations({ identities: A.slice("spiffe://".length) }).identities).toEqual([A])
  })

  it.each([
    ["4f0a", "4F0A"],
    ["4F:0A", "4F0A"],
    ["00:4f:0a", "4F0A"],
    ["0x4F0a", "4F0A"],
    ["0", "0"],
    ["7".repeat(40), "7".repeat(40)],
  ])("normalise the serial `%s` to `%s`", (serials, expected) => {
    expect(parseRevocations({ serials })).toEqual({ identities: [], serials: [expected], errors: [] })
  })

  it.each(["4f0g", "4f:0", ":4f", "4f 0a", "-4f", "0x", "7".repeat(41), "🙂"])(
    "report the invalid serial `%s`",
    line => {
      const { serials, errors } = parseRevocations({ serials: `4f0a\n${line}\n4f0b` })
      expect(serials).toEqual(["4F0A", "4F0B"])
      expect(errors).toMatchObject([{ list: "serials", line: 2, message: expect.stringContaining(`\`${line}\``) }])
    },
  )

  it.each([
    ["commas", `${A},${B}`],
    ["commas and spaces", `${A}, ${B},`],
    ["semicolons", `${A};${B}`],
    ["spaces", `${A} ${B}`],
    ["dashes", `- ${A}\n  - ${B}`],
    ["quotes", `"${A}"\n'${B}'`],
    ["a list in JSON", JSON.stringify([A, B])],
    ["another case of scheme and trust domain", `SPIFFE://${A.slice(9)}\nSpiffe://Cluster.Local/ns/foo/sa/b`],
    ["line ends of another system", `${A}\r${B}`],
  ])("are parsed with %s", (_, identities) => {
    expect(parseRevocations({ identities })).toEqual({ identities: [A, B], serials: [], errors: [] })
  })

  it.each(["4f0a,4f0b", "4F-0A\n4F-0B", "- 4f0a\n- 4f0b", "serial=4F0A\nserial=4F0B", '["4f:0a", "4f:0b"]'])(
    "are parsed from the serials `%s`",
    serials => {
      expect(parseRevocations({ serials })).toEqual({ identities: [], serials: ["4F0A", "4F0B"], errors: [] })
    },
  )

  it.each([
    ["identites", "the key `identites` is unknown; write `identities`"],
    ["Serials", "the key `Serials` is unknown; write `serials`"],
    ["serial", "the key `serial` is unknown; write `serials`"],
    ["people", "the key `people` is unknown; use `identities` or `serials`"],
    ["__proto__", "the key `__proto__` is unknown; use `identities` or `serials`"],
  ])("report the key `%s`, and keep the other keys", (key, message) => {
    const data = Object.fromEntries([
      [key, A],
      ["identities", B],
    ])
    expect(parseRevocations(data)).toEqual({
      identities: [B],
      serials: [],
      errors: [{ list: key, line: undefined, message }],
    })
  })

  it.each(["foo", "spiffe://cluster.local/ns/foo", "https://a/ns/b/sa/c", `${A}/x`])(
    "report the identity `%s` and keep the others",
    line => {
      const { identities, errors } = parseRevocations({ identities: `${line}\n${A}` })
      expect(identities).toEqual([A])
      expect(errors).toMatchObject([{ list: "identities", line: 1 }])
    },
  )

  it("show only the beginning of a long line", () => {
    const [error] = parseRevocations({ identities: "x".repeat(10_000) }).errors
    expect(error?.message.length).toBeLessThan(200)
  })

  it("never lose a valid line because of its neighbours", () => {
    const other = fc.string().map(text => text.replaceAll("\n", " "))
    fc.assert(
      fc.property(fc.array(other), fc.array(other), (before, after) => {
        const text = [...before, A, ...after].join("\n")
        expect(parseRevocations({ identities: text }).identities).toContain(A)
      }),
    )
  })
})
