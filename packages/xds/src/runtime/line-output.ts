// SPDX-License-Identifier: Apache-2.0
// Where a program writes its log. A file is written synchronously, and lines that it does not take are dropped and
// counted: a full disk must neither stop a proxy nor silence it forever, as a stream would be after its first error.
// Other outputs are streams, whose reader may disappear.

import { fstatSync, writeSync } from "node:fs"

export interface LineOutput {
  write(text: string): boolean
  /** Not read yet by the consumer. */
  readonly writableLength: number
}

/** Standard output, for lines whose reader may be slow or go away. */
export function standardOutput(): LineOutput {
  process.stdout.on("error", () => undefined)
  return fileOutput(1) ?? process.stdout
}

/** Undefined where it is no file. */
export function fileOutput(descriptor: number): LineOutput | undefined {
  return isFile(descriptor) ? new FileOutput(text => writeSync(descriptor, text)) : undefined
}

export class FileOutput implements LineOutput {
  readonly writableLength = 0
  readonly #put: (text: string) => number
  #lost = 0

  /** `put` writes and says how many bytes were taken. */
  constructor(put: (text: string) => number) {
    this.#put = put
  }

  write(text: string): boolean {
    // Of the last line that was written some part may be missing.
    const news =
      this.#lost === 0 ? "" : `\n${JSON.stringify({ level: 40, msg: "log lines were lost", writes: this.#lost })}\n`
    try {
      if (this.#put(news + text) === Buffer.byteLength(news + text)) this.#lost = 0
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
