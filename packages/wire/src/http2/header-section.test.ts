// SPDX-License-Identifier: Apache-2.0

import { expect, test } from "vitest"
import { ERROR, FLAG, FRAME } from "./frame.js"
import { FrameReader } from "./frame-reader.js"
import { HeaderSection } from "./header-section.js"
import { frame } from "./testing/frame.js"

const MAX_LIST = 64 * 1024

/** How many CONTINUATION frames of a size are accepted, and how many bytes were held for them. */
function taken(size: number): { readonly frames: number; readonly held: number } {
  const section = new HeaderSection(MAX_LIST)
  const reader = new FrameReader()
  const read = (type: number): FrameReader => {
    const bytes = frame(type, 0, 1, Buffer.alloc(size))
    reader.read(bytes, 0, bytes.length)
    return reader
  }
  expect(section.begin(read(FRAME.headers))).toBe(ERROR.none)
  let held = section.held
  for (let frames = 0; frames < 100_000; frames++) {
    const error = section.continue(read(FRAME.continuation))
    if (error !== ERROR.none) {
      expect(error).toBe(ERROR.calm)
      return { frames, held }
    }
    held = section.held
  }
  throw new Error("there is no end to it")
}

test.each([
  ["large", 8_000],
  ["whole", 16_384],
])("rejects a section of %s pieces before it fills the memory (CVE-2024-27316)", (_, size) => {
  const { held, frames } = taken(size)
  expect(held).toBeGreaterThanOrEqual(MAX_LIST)
  expect(held).toBeLessThan(2 * MAX_LIST)
  expect(frames).toBeLessThan(20)
})

test.each([0, 1])("rejects a section in pieces of %i bytes before it costs much", size => {
  expect(taken(size).frames).toBeLessThan(200)
})

test("keeps a section in several frames when the read buffer is reused", () => {
  const section = new HeaderSection(MAX_LIST)
  const reader = new FrameReader()
  const read = (type: number, flags: number, text: string, take: (reader: FrameReader) => number): void => {
    const bytes = frame(type, flags, 1, Buffer.from(text))
    reader.read(bytes, 0, bytes.length)
    expect(take(reader)).toBe(ERROR.none)
    bytes.fill(0xfe)
  }
  read(FRAME.headers, 0, "one ", reader => section.begin(reader))
  read(FRAME.continuation, 0, "two ", reader => section.continue(reader))
  read(FRAME.continuation, FLAG.endHeaders, "three", reader => section.continue(reader))
  expect(section.bytes.toString("latin1", section.start, section.end)).toBe("one two three")
})
