// SPDX-License-Identifier: Apache-2.0
// Splits the body of a watch into lines: one JSON document each, which the network may split anywhere, even inside a
// character. The length of a line is limited, so that a broken server cannot exhaust the memory.

const LINE_FEED = 0x0a
const MAX_LINE = 16 << 20

export async function* watchLines(body: AsyncIterable<Buffer>, maxLine: number = MAX_LINE): AsyncGenerator<string> {
  let pieces: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      if (size + end - from > maxLine) throw new LineTooLong(maxLine)
      pieces.push(chunk.subarray(from, end))
      const line = (pieces.length === 1 ? chunk.subarray(from, end) : Buffer.concat(pieces)).toString("utf8").trim()
      pieces = []
      size = 0
      from = end + 1
      if (line !== "") yield line
    }
    if (from === chunk.length) continue
    size += chunk.length - from
    if (size > maxLine) throw new LineTooLong(maxLine)
    pieces.push(chunk.subarray(from))
  }
  // A line without a newline was cut off, and the next watch receives it completely. A complete document without one
  // comes from a server that does not send events.
  const rest = Buffer.concat(pieces).toString("utf8").trim()
  if (isJson(rest)) yield rest
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export class LineTooLong extends Error {
  constructor(limit: number) {
    super(`a line of the watch is longer than ${limit} bytes`)
  }
}
