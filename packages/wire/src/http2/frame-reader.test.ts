// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { ERROR, FRAME } from "./frame.js"
import { FOUND, FrameReader } from "./frame-reader.js"
import { END_STREAM, frame } from "./testing/frame.js"

/** The frames in the pieces, with content joined, so that the result does not depend on where the bytes were split. */
function read(pieces: readonly Buffer[]): readonly string[] {
  const reader = new FrameReader()
  const found: string[] = []
  let content = ""
  for (const piece of pieces) {
    let at = 0
    for (;;) {
      const what = reader.read(piece, at, piece.length)
      at = reader.next
      const text = reader.bytes.toString("latin1", reader.start, reader.end)
      if (what === FOUND.nothing) break
      if (what === FOUND.error) return [...found, `error ${reader.error}`]
      if (what === FOUND.frame) found.push(`frame ${reader.type} ${reader.flags} ${reader.stream} ${text}`)
      else if (what === FOUND.unknown) found.push(`unknown ${reader.type}`)
      else if (what === FOUND.dataHeader) content = ""
      else if (what === FOUND.data) content += text
      else found.push(`data ${reader.flags} ${reader.stream} ${reader.overhead} ${content}`)
    }
  }
  return found
}

const anyFrame = fc
  .tuple(fc.nat(11), fc.constantFrom(0, 1, 4, 5, 8, 9, 0x20), fc.nat(5), fc.uint8Array({ maxLength: 40 }))
  .map(([type, flags, stream, payload]) => frame(type, flags, stream, Buffer.from(payload)))

it("finds the same frames wherever the bytes are split", () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 8 }), frames => {
      const whole = Buffer.concat(frames)
      const expected = read([whole])
      expect(read([...whole].map(byte => Buffer.from([byte])))).toEqual(expected)
      for (let at = 0; at <= whole.length; at += 7) {
        expect(read([whole.subarray(0, at), whole.subarray(at)])).toEqual(expected)
      }
    }),
  )
})

it("separates content from padding", () => {
  const padded = frame(FRAME.data, END_STREAM | 8, 3, Buffer.from([2, 0x61, 0x62, 0, 0]))
  expect(read([padded, frame(FRAME.data, 0, 3)])).toEqual([`data 9 3 3 ab`, "data 0 3 0 "])
})

describe("reports before buffering anything that", () => {
  test.each<[string, Buffer, number]>([
    ["a frame is too large", Buffer.from([0, 0x40, 1, FRAME.headers, 4, 0, 0, 0, 1]), ERROR.frameSize],
    ["a ping has another length", frame(FRAME.ping, 0, 0, Buffer.alloc(7)), ERROR.frameSize],
    ["a reset has another length", frame(FRAME.reset, 0, 1, Buffer.alloc(5)), ERROR.frameSize],
    ["settings are incomplete", frame(FRAME.settings, 0, 0, Buffer.alloc(5)), ERROR.frameSize],
    ["an acknowledgement has a payload", frame(FRAME.settings, 1, 0, Buffer.alloc(6)), ERROR.frameSize],
    ["a goaway is too short", frame(FRAME.goaway, 0, 0, Buffer.alloc(7)), ERROR.frameSize],
    ["padding is longer than the frame", frame(FRAME.data, 8, 1, Buffer.from([5, 1, 2])), ERROR.protocol],
    ["padding has no room for its length", frame(FRAME.data, 8, 1), ERROR.frameSize],
  ])("%s", (_, bytes, error) => {
    expect(read([bytes]).at(-1)).toBe(`error ${error}`)
  })
})
