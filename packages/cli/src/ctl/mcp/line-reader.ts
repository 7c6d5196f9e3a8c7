// SPDX-License-Identifier: Apache-2.0
// Splits a byte stream into lines of limited length. A longer line is dropped and reported as soon as it exceeds the
// limit.

const NEWLINE = 0x0a

export class LineReader {
  readonly #most: number
  readonly #line: (bytes: Buffer) => void
  readonly #tooLong: () => void
  #parts: Buffer[] = []
  #length = 0

  constructor(most: number, line: (bytes: Buffer) => void, tooLong: () => void) {
    this.#most = most
    this.#line = line
    this.#tooLong = tooLong
  }

  add(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      this.#keep(rest.subarray(0, end))
      this.end()
      rest = rest.subarray(end + 1)
    }
    this.#keep(rest)
  }

  /** Handles a last line without a newline. */
  end(): void {
    if (this.#length > 0 && this.#length <= this.#most) this.#line(Buffer.concat(this.#parts))
    this.#parts = []
    this.#length = 0
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return
    const isLonger = this.#length <= this.#most && this.#length + part.length > this.#most
    this.#length += part.length
    if (this.#length <= this.#most) this.#parts.push(part)
    else this.#parts = []
    if (isLonger) this.#tooLong()
  }
}
