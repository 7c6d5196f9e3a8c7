// SPDX-License-Identifier: Apache-2.0
// Tests HPACK with the examples of RFC 7541 Appendix C, against itself, and with invalid header blocks.

import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { HpackDecoder } from "./decoder.js"
import { HpackEncoder } from "./encoder.js"
import { decodeHuffman, encodeHuffman, huffmanLength } from "./huffman.js"

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex")
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1")

function read(decoder: HpackDecoder, block: Buffer): readonly string[] | undefined {
  return decoder.decode(block, 0, block.length)?.map(({ name, value }) => `${name}: ${value}`)
}

function written(encoder: HpackEncoder, fields: readonly (readonly [string, string])[]): Buffer {
  for (const [name, value] of fields) encoder.field(name, value)
  return latin1(encoder.finish())
}

const newDecoder = (): HpackDecoder => new HpackDecoder(64 * 1024, 200)

const REQUESTS = [
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
  [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"],
]

describe("the requests of RFC 7541 on one connection", () => {
  test.each<[string, readonly string[]]>([
    [
      "section C.3, without Huffman coding",
      [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
      ],
    ],
    [
      "section C.4, with Huffman",
      [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
      ],
    ],
  ])("%s", (_, blocks) => {
    const decoder = newDecoder()
    expect(blocks.map(block => read(decoder, bytes(block)))).toEqual(REQUESTS)
  })
})

describe("Huffman", () => {
  it("decodes what it encodes, in the announced number of bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), octets => {
        const text = Buffer.from(octets).toString("latin1")
        const encoded = latin1(encodeHuffman(text))
        expect(encoded.length).toBe(huffmanLength(text))
        expect(decodeHuffman(encoded, 0, encoded.length)).toBe(text)
      }),
    )
  })

  test.each([
    ["padding of eight bits", "ff"],
    ["padding of zeros", "00"],
    ["the EOS symbol", "3fffffff"],
  ])("rejects %s", (_, hex) => {
    const block = bytes(hex)
    expect(decodeHuffman(block, 0, block.length)).toBeUndefined()
  })
})

describe("the decoder rejects", () => {
  test.each([
    ["index 0", "80"],
    ["an index beyond both tables", "be"],
    ["a name beyond both tables", "7f00 00"],
    ["a truncated string", "4003 6162"],
    ["a field without a value", "4001 61"],
    ["an unterminated integer", "ffff ffff ff"],
    ["an integer above the limit", "7fff ffff ff7f"],
    ["a table larger than announced", "3fe2 1f"],
    ["a change of the table's size after a field", "8220"],
    ["invalid Huffman text", "0085 ffff ffff ff00"],
  ])("%s", (_, hex) => {
    expect(read(newDecoder(), bytes(hex))).toBeUndefined()
  })

  it("everything after an undecodable block", () => {
    const decoder = newDecoder()
    expect(read(decoder, bytes("80"))).toBeUndefined()
    expect(read(decoder, bytes("82"))).toBeUndefined()
  })
})

describe("a list beyond the limits", () => {
  it("is decoded but not kept, so the table stays in sync with the peer's", () => {
    const decoder = new HpackDecoder(1_000, 10)
    const encoder = new HpackEncoder()
    const block = written(encoder, [
      ["x-a", "1"],
      ["x-b", "y".repeat(990)],
      ["x-c", "3"],
    ])
    expect(read(decoder, block)).toEqual(["x-a: 1"])
    expect(decoder.error).toBe("head-too-large")
    expect(read(decoder, written(encoder, [["x-c", "3"]]))).toEqual(["x-c: 3"])
    expect(decoder.error).toBeUndefined()
  })

  it("costs no more than its bytes, even if it repeats a large field", () => {
    const decoder = newDecoder()
    read(decoder, written(new HpackEncoder(), [["x-bomb", "y".repeat(1_000)]]))
    const list = decoder.decode(Buffer.alloc(60_000, 0xbe), 0, 60_000)
    expect(decoder.error).toBe("head-too-large")
    expect(list?.length).toBeLessThan(70)
  })

  it("may also have too many fields", () => {
    const decoder = new HpackDecoder(64 * 1024, 3)
    expect(read(decoder, Buffer.alloc(5, 0x82))?.length).toBe(3)
    expect(decoder.error).toBe("too-many-headers")
  })
})

it("decodes what the encoder wrote, over many blocks and table sizes", () => {
  const name = fc.constantFrom(
    ":path",
    "x-a",
    "x-b",
    "cookie",
    "date",
    "content-type",
    "accept",
    "x-long-name-of-a-field",
  )
  const value = fc.oneof(fc.constantFrom("", "/", "gzip, deflate", "a", "b"), fc.string({ maxLength: 1_500 }))
  const ascii = value.map(text => text.replace(/[^\x20-\x7e]/g, "?"))
  const block = fc.record({
    fields: fc.array(fc.tuple(name, ascii), { maxLength: 12 }),
    size: fc.option(fc.integer({ min: 0, max: 8_192 })),
  })
  const largest = fc.constantFrom(undefined, 0, 64, 500)
  fc.assert(
    fc.property(largest, fc.array(block, { maxLength: 12 }), (largestTable, blocks) => {
      const encoder = new HpackEncoder(largestTable)
      const decoder = newDecoder()
      for (const { fields, size } of blocks) {
        if (size !== null) encoder.limitTable(size)
        expect(read(decoder, written(encoder, fields))).toEqual(fields.map(([key, text]) => `${key}: ${text}`))
      }
    }),
  )
})

it("makes the peer keep no table if it keeps none, whatever the peer allows", () => {
  const encoder = new HpackEncoder(0)
  const first = written(encoder, [["content-type", "application/grpc+proto"]])
  // RFC 7541 section 6.3: a table of size 0. Section 6.2.2: a literal without indexing.
  expect([first[0], (first[1] ?? 0) & 0xf0]).toEqual([0x20, 0])
  encoder.limitTable(4_096)
  expect(written(encoder, [["content-type", "application/grpc+proto"]])).toEqual(first.subarray(1))
})

describe("a block of the same source", () => {
  const HEAD = { fields: [[":status", "200"] as const, ["content-type", "text/plain"] as const] }
  const again = (
    encoder: HpackEncoder,
    source: { readonly fields: readonly (readonly [string, string])[] },
  ): Buffer => {
    const known = encoder.blockOf(source)
    if (known !== undefined) return latin1(known)
    for (const [name, value] of source.fields) encoder.field(name, value)
    return latin1(encoder.finish(source))
  }

  it("is encoded once, as soon as it adds nothing to the table", () => {
    const encoder = new HpackEncoder()
    expect(encoder.blockOf(HEAD)).toBeUndefined()
    again(encoder, HEAD)
    expect(encoder.blockOf(HEAD)).toBeUndefined()
    const second = again(encoder, HEAD)
    expect(second.length).toBe(2)
    expect(encoder.blockOf(HEAD)).toBe(second.toString("latin1"))
    expect(encoder.blockOf({ ...HEAD })).toBeUndefined()
    // RFC 7541 section 4.2: the next block begins with the table size.
    encoder.limitTable(1_000)
    expect(encoder.blockOf(HEAD)).toBeUndefined()
  })

  it("decodes to the same fields, whatever came in between", () => {
    const name = fc.constantFrom(":path", "x-a", "x-b", "cookie", "date", "content-type")
    const value = fc.oneof(fc.constantFrom("", "/", "a", "b"), fc.string({ minLength: 900, maxLength: 1_100 }))
    const ascii = value.map(text => text.replace(/[^\x20-\x7e]/g, "?"))
    const fields = fc.array(fc.tuple(name, ascii), { minLength: 1, maxLength: 4 })
    const step = fc.record({ which: fc.nat({ max: 2 }), size: fc.option(fc.nat({ max: 5_000 }), { freq: 6 }) })
    fc.assert(
      fc.property(fc.tuple(fields, fields, fields), fc.array(step, { maxLength: 30 }), (lists, steps) => {
        const sources = lists.map(list => ({ fields: list }))
        const encoder = new HpackEncoder()
        const decoder = newDecoder()
        for (const { which, size } of steps) {
          if (size !== null) encoder.limitTable(size)
          const source = sources[which] ?? { fields: [] }
          const received = read(decoder, again(encoder, source))
          expect(received).toEqual(source.fields.map(([key, text]) => `${key}: ${text}`))
        }
      }),
      { numRuns: 1_000 * inject("effort") },
    )
  })
})

it("never throws on any input", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), blocks => {
      const decoder = newDecoder()
      for (const block of blocks) read(decoder, Buffer.from(block))
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})

it("keeps credentials out of every table", () => {
  const encoder = new HpackEncoder()
  const fields: [string, string][] = [
    ["authorization", "Bearer x"],
    ["cookie", "a=b"],
    ["set-cookie", "a=b"],
  ]
  const first = written(encoder, fields)
  expect(written(encoder, fields)).toEqual(first)
  // RFC 7541 section 6.2.3: never indexed, not even by intermediaries.
  expect((first[0] ?? 0) & 0xf0).toBe(0x10)
})
