// SPDX-License-Identifier: Apache-2.0
// Reads a log as bytes, in chunks and with backpressure, because it may exceed the maximum length of a string. It
// follows the log as it grows, across truncation, and across a restart, when another file takes its name.

import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { startOfLines } from "./log-file.js"

const LOOK_EVERY_MS = 200
const PIECE = 65_536

/** Resolves when the bytes have been consumed. The buffer is reused after that. */
type Take = (bytes: Buffer) => Promise<void>

/** Passes on the last lines, or the whole log, and returns the position after them. */
export async function showLog(path: string, lines: number | undefined, take: Take): Promise<number> {
  const file = openSync(path, "r")
  try {
    const { size } = fstatSync(file)
    return await drain(file, lines === undefined ? 0 : startOfLines(file, size, lines), take)
  } finally {
    closeSync(file)
  }
}

/** Passes on what is appended after the position, until the signal aborts. */
export async function followLog(path: string, from: number, take: Take, signal: AbortSignal): Promise<void> {
  let file = open(path)
  // A file that is shorter than before was truncated.
  let position = file === undefined || fstatSync(file).size < from ? 0 : from
  while (!signal.aborted) {
    if (file !== undefined) {
      // Truncated while its process continues to write.
      if (fstatSync(file).size < position) position = 0
      position = await drain(file, position, take, signal)
    }
    if (file === undefined || isReplaced(path, file)) {
      const next = open(path)
      if (next !== undefined) {
        if (file !== undefined) closeSync(file)
        file = next
        position = 0
        continue
      }
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
  if (file !== undefined) closeSync(file)
}

async function drain(file: number, from: number, take: Take, signal?: AbortSignal): Promise<number> {
  const piece = Buffer.alloc(PIECE)
  let position = from
  while (signal?.aborted !== true) {
    const read = readSync(file, piece, 0, PIECE, position)
    if (read === 0) break
    position += read
    await take(piece.subarray(0, read))
  }
  return position
}

function isReplaced(path: string, file: number): boolean {
  const now = statSync(path, { throwIfNoEntry: false })
  return now !== undefined && now.ino !== fstatSync(file).ino
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r")
  } catch {
    return undefined
  }
}
