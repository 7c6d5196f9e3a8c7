// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readElements, readOnly, wholeBits } from "./read.js"
import { TAG } from "./tags.js"
import { bitString, element, objectIdentifier, sequence, time, unsignedInteger } from "./write.js"

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex")

describe("writing DER", () => {
  it.each<[string, Buffer, string]>([
    ["a number below 128", unsignedInteger(hex("7f")), "02 01 7f"],
    ["a number whose top bit is set stays positive", unsignedInteger(hex("80")), "02 02 00 80"],
    ["leading zeros of a number are removed", unsignedInteger(hex("000001")), "02 01 01"],
    ["zero", unsignedInteger(hex("00")), "02 01 00"],
    ["no digits are zero", unsignedInteger(hex("")), "02 01 00"],
    ["an identifier with large arcs", objectIdentifier("1.2.840.113549.1.1.11"), "06 09 2a864886f70d01010b"],
    ["an identifier of the second root arc", objectIdentifier("2.5.29.17"), "06 03 551d11"],
    ["unused bits", bitString(hex("06"), 1), "03 02 01 06"],
    ["nothing inside", sequence(), "30 00"],
    [
      "a year up to 2049 has two digits",
      time(Date.UTC(2049, 11, 31, 23, 59, 59, 999)),
      `17 0d ${ascii("491231235959Z")}`,
    ],
    ["a year from 2050 has four", time(Date.UTC(2050, 0, 1)), `18 0f ${ascii("20500101000000Z")}`],
  ])("%s", (_, written, expected) => {
    expect(written.toString("hex")).toBe(expected.replaceAll(" ", ""))
  })

  it.each([127, 128, 255, 256, 65_535, 65_536])("writes the shortest length of %i octets", length => {
    const read = readOnly(element(TAG.octetString, Buffer.alloc(length)), TAG.octetString)
    expect(read?.value.length).toBe(length)
  })
})

describe("reading DER", () => {
  it.each<[string, string]>([
    ["an element truncated in its length", "30"],
    ["an element truncated in its content", "30 02 00"],
    ["the indefinite length", "30 80 00 00"],
    ["a long form although the short one suffices", "30 81 01 00"],
    ["a length with a leading zero", `30 82 00 80 ${"00".repeat(128)}`],
    ["a length of four octets", "30 84 00 00 00 01 00"],
    ["a tag of several octets", "1f 01 00"],
    ["something after a valid element", "05 00 05"],
  ])("rejects %s", (_, bytes) => {
    expect(readElements(hex(bytes))).toBeUndefined()
  })

  it("rejects more elements than the limit", () => {
    expect(readElements(Buffer.alloc(2 * 256).fill("0500", "hex"))).toHaveLength(256)
    expect(readElements(Buffer.alloc(2 * 257).fill("0500", "hex"))).toBeUndefined()
  })

  it("rejects partial octets if whole octets are required", () => {
    expect(wholeBits(readOnly(bitString(hex("06"), 1), TAG.bitString))).toBeUndefined()
  })

  it("parses everything that it wrote", () => {
    const parts = fc.array(fc.tuple(fc.constantFrom(...Object.values(TAG)), fc.uint8Array({ maxLength: 300 })))
    fc.assert(
      fc.property(parts, list => {
        const written = Buffer.concat(list.map(([tag, value]) => element(tag, value)))
        const read = readElements(written)?.map(({ tag, value }) => [tag, new Uint8Array(value)])
        expect(read).toEqual(list)
      }),
    )
  })

  it("parses every octet or returns nothing, for any octets", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), bytes => {
        const read = readElements(bytes)
        if (read !== undefined) expect(Buffer.concat(read.map(({ raw }) => raw))).toEqual(Buffer.from(bytes))
      }),
    )
  })
})

function ascii(text: string): string {
  return Buffer.from(text, "latin1").toString("hex")
}
