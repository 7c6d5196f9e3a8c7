// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it, test } from "vitest"
import { MessageReader } from "./message-reader.js"

function prefixed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

it("finds the messages, however their bytes are split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 6_000 }), { minLength: 1, maxLength: 20 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map(message => prefixed(message)))
        const reader = new MessageReader(10_000)
        const found: Buffer[] = []
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const to = Math.min(bytes.length, at + (cuts[turn % cuts.length] ?? 1))
          expect(reader.read(bytes, at, to, message => found.push(Buffer.from(message)) > 0)).toBeUndefined()
          at = to
        }
        expect(reader.begun).toBe(false)
        expect(found.map(each => each.toString("hex"))).toEqual(messages.map(each => Buffer.from(each).toString("hex")))
      },
    ),
    { numRuns: 50 * inject("effort") },
  )
})

it("returns messages that stay valid when the read buffer is overwritten", () => {
  const bytes = prefixed(Buffer.from("hello"))
  const found: Buffer[] = []
  new MessageReader(10).read(bytes, 0, bytes.length, message => found.push(message) > 0)
  bytes.fill(0xfe)
  expect(found).toEqual([Buffer.from("hello")])
})

test.each([
  ["too large", prefixed(new Uint8Array(11)), "too-large"],
  ["compressed", prefixed(new Uint8Array(3), 1), "compressed"],
])("rejects a message that is %s before it has arrived", (_, bytes, error) => {
  const reader = new MessageReader(10)
  expect(reader.read(bytes, 0, 4, () => true)).toBeUndefined()
  expect(reader.read(bytes, 4, 5, () => true)).toBe(error)
})

it("reports nothing further to a reader that has stopped", () => {
  const bytes = Buffer.concat([prefixed(Buffer.from("one")), prefixed(Buffer.from("two"))])
  const found: string[] = []
  new MessageReader(10).read(bytes, 0, bytes.length, message => {
    found.push(message.toString())
    return false
  })
  expect(found).toEqual(["one"])
})
