// SPDX-License-Identifier: Apache-2.0
// The output of a program's log. A file is written synchronously, and lines that do not fit on the disk are dropped and
// counted: a full disk must neither stop a proxy nor silence it forever, as it would a stream after its first error.
// Other outputs are streams, whose reader may disappear.

import { fstatSync, writeSync } from "node:fs"

export interface LineOutput {
  write(text: string): boolean
  /** Number of bytes that the consumer has not read yet. */
  readonly writableLength: number
}

/** Standard output, for lines whose reader may be slow or disappear. */
export function standardOutput(): LineOutput {
  process.stdout.on("error", () => undefined)
  return fileOutput(1) ?? process.stdout
}

/** Undefined if the descriptor is not a file. */
export function fileOutput(descriptor: number): LineOutput | undefined {
  return isFile(descriptor) ? new FileOutput(text => writeSync(descriptor, text)) : undefined
}

export class FileOutput implements LineOutput {
  readonly writableLength = 0
  readonly #put: (text: string) => number
  #lost = 0

  /** `put` writes and returns how many bytes were written. */
  constructor(put: (text: string) => number) {
    this.#put = put
  }

  write(text: string): boolean {
    // Starts with a line end, because the last line may have been written in part.
    const lossNote =
      this.#lost === 0 ? "" : `\n${JSON.stringify({ level: 40, msg: "log lines were lost", writes: this.#lost })}\n`
    try {
      if (this.#put(lossNote + text) === Buffer.byteLength(lossNote + text)) this.#lost = 0
      else this.#lost++
    } catch {
      this.#lost++
    }
    return true
  }
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}
