// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { LineTooLong, watchLines } from "./watch-lines.js"

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0
  for (const size of sizes) {
    yield bytes.subarray(from, from + size)
    from += size
  }
  yield bytes.subarray(from)
}

async function read(body: AsyncIterable<Buffer>, limit?: number): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const line of watchLines(body, limit)) lines.push(line)
  return lines
}

describe("watch lines", () => {
  it("are the same however the bytes are split", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.string({ unit: "grapheme", minLength: 1 }).map(text => JSON.stringify(text)),
          { maxLength: 8 },
        ),
        fc.array(fc.nat(7), { maxLength: 200 }),
        async (lines, sizes) => {
          const bytes = Buffer.from(lines.map(line => `${line}\n`).join(""))
          expect(await read(cut(bytes, sizes))).toEqual(lines)
        },
      ),
    )
  })

  it("have a maximum size, with or without a newline", async () => {
    expect(await read(cut(Buffer.from(`${"x".repeat(10)}\n`), [4]), 10)).toEqual(["x".repeat(10)])
    await expect(read(cut(Buffer.from(`${"x".repeat(11)}\n`), [4]), 10)).rejects.toBeInstanceOf(LineTooLong)
    await expect(read(cut(Buffer.from("x".repeat(11)), [4]), 10)).rejects.toBeInstanceOf(LineTooLong)
  })
})
