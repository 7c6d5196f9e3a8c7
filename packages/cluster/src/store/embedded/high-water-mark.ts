// SPDX-License-Identifier: Apache-2.0
// The highest acknowledged revision, in a file beside LevelDB's own. A store that lost the end of its log looks like an
// intact older store; only this file shows that there was more. INVARIANT: it is written after LevelDB has synced a
// batch, so it is never ahead of the disk. The kernel writes it back later, so a power failure can lose the newest
// mark, and an older mark only detects less.

import { closeSync, constants, fdatasync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { seal, unseal } from "./record.js"

const NAME = "high-water-mark"
/** Two slots are written alternately, so that an incomplete write leaves the previous mark intact. */
const SLOT_LENGTH = 32
const SYNC_EVERY_MS = 1_000

export class HighWaterMark {
  readonly #file: number
  #slot = 0
  #sync: NodeJS.Timeout | undefined

  private constructor(file: number) {
    this.#file = file
  }

  /** Returns undefined if there is no file, and "damaged" if it cannot be read. */
  static read(folder: string): number | "damaged" | undefined {
    let text: string
    try {
      text = readFileSync(join(folder, NAME), "latin1")
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
      throw error
    }
    const slots = [text.slice(0, SLOT_LENGTH), text.slice(SLOT_LENGTH)]
    const revisions = slots.flatMap(slot => unseal(NAME, slot.trimEnd()) ?? []).map(Number)
    return revisions.length === 0 ? "damaged" : Math.max(...revisions)
  }

  /** The mark is on disk when this returns. */
  static write(folder: string, revision: number): HighWaterMark {
    // The file is not truncated, so that a crash here does not lose the previous mark.
    const mark = new HighWaterMark(openSync(join(folder, NAME), constants.O_RDWR | constants.O_CREAT, 0o600))
    mark.set(revision)
    fsyncSync(mark.#file)
    const directory = openSync(folder, "r")
    fsyncSync(directory)
    closeSync(directory)
    return mark
  }

  set(revision: number): void {
    writeSync(this.#file, seal(NAME, String(revision)).padEnd(SLOT_LENGTH), this.#slot * SLOT_LENGTH, "latin1")
    this.#slot = 1 - this.#slot
    this.#sync ??= setTimeout(() => {
      this.#sync = undefined
      // The kernel writes the mark back anyway; a failure only delays that.
      fdatasync(this.#file, () => undefined)
    }, SYNC_EVERY_MS).unref()
  }

  close(): void {
    clearTimeout(this.#sync)
    fsyncSync(this.#file)
    closeSync(this.#file)
  }
}
