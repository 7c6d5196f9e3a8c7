// SPDX-License-Identifier: Apache-2.0
import { BinaryWriter } from "@bufbuild/protobuf/wire"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  decodeRange,
  decodeText,
  decodeTxn,
  decodeWatch,
  encodeAuthenticate,
  encodeCompaction,
  encodeRange,
  encodeTxn,
  encodeWatchCreate,
} from "./messages.js"

const hex = (data: Uint8Array): string => Buffer.from(data).toString("hex")

const wire = (...fields: string[]): string => fields.join("")

// Bytes written by hand from rpc.proto: <field << 3 | wire type> <length> <content>.
describe("etcd messages", () => {
  it("are encoded with etcd's field numbers", () => {
    const range = { key: "a", rangeEnd: "b", limit: 5, revision: 300, keysOnly: true, countOnly: true }
    expect(hex(encodeRange(range))).toBe(wire("0a0161", "120162", "1805", "20ac02", "4001", "4801"))
    expect(hex(encodeRange({ key: "a" }))).toBe("0a0161")
    const compare = wire("0a09", "0800", "1002", "1a0161", "3007")
    const put = wire("1208", "1206", "0a0161", "120162")
    const deletion = wire("1205", "1a03", "0a0163")
    const txn = {
      compares: [{ key: "a", modRevision: 7 }],
      success: [
        { key: "a", value: "b" },
        { key: "c", delete: true as const },
      ],
    }
    expect(hex(encodeTxn(txn))).toBe(wire(compare, put, deletion))
    expect(hex(encodeCompaction(9))).toBe("0809")
    expect(hex(encodeWatchCreate({ key: "a", rangeEnd: "b", startRevision: 3 }))).toBe(
      wire("0a0a", "0a0161", "120162", "1803", "2001"),
    )
    expect(hex(encodeAuthenticate("u", "p"))).toBe(wire("0a0175", "120170"))
  })

  it("are decoded, and unknown fields are skipped", () => {
    const header = wire("0a04", "0801", "1809")
    const kv = wire("0a0161", "1002", "1803", "2001", "2a027b7d")
    expect(decodeRange(Buffer.from(wire(header, "120d", kv, "1801", "2007", "7a0178"), "hex"))).toEqual({
      revision: 9,
      kvs: [{ key: "a", value: "{}", createRevision: 2, modRevision: 3 }],
      more: true,
      count: 7,
    })
    expect(decodeTxn(Buffer.from(wire(header, "1001", "1a04", "1a021001"), "hex"))).toEqual({
      revision: 9,
      succeeded: true,
      changed: true,
    })
    expect(decodeTxn(Buffer.from(wire(header, "1001", "1a02", "1a00"), "hex")).changed).toBe(false)
    expect(decodeWatch(Buffer.from(wire(header, "5a11", "0801", "120d", kv), "hex"))).toMatchObject({
      revision: 9,
      created: false,
      events: [{ deleted: true, kv: { key: "a", modRevision: 3 } }],
    })
    expect(decodeWatch(Buffer.from(wire(header, "2001", "2805", "320178"), "hex"))).toMatchObject({
      canceled: true,
      compactRevision: 5,
      cancelReason: "x",
    })
    expect(decodeText(Buffer.from("1203312e32", "hex"))).toBe("1.2")
  })

  it("reject a revision that would be rounded", () => {
    const header = new BinaryWriter()
      .tag(3, 0)
      .int64(2n ** 60n)
      .finish()
    const answer = new BinaryWriter().tag(1, 2).bytes(header).finish()
    expect(() => decodeRange(answer)).toThrow(RangeError)
  })

  it("decode any bytes to a value or an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), data => {
        for (const decode of [decodeRange, decodeTxn, decodeWatch, decodeText]) {
          try {
            decode(data)
          } catch (error) {
            expect(error).toBeInstanceOf(Error)
          }
        }
      }),
    )
  })
})
