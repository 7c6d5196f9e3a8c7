// SPDX-License-Identifier: Apache-2.0
// Logs of processes. Each start begins a new log and keeps the previous one. Logs are read from the end.

import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync } from "node:fs"
import { dirname } from "node:path"

const PIECE = 65_536
const MOST_TOLD = 8_192
const LINE_FEED = 0x0a

/** Opens the log for appending. It may contain data of callers, so only its owner can read it. */
export function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return openSync(path, "a", 0o600)
}

export function rotateLog(path: string): void {
  if (existsSync(path)) renameSync(path, `${path}.1`)
}

/** The last lines, limited to an amount that a user can read; all lines if `count` is undefined. */
export function tailOf(path: string, count: number | undefined): string {
  let file: number
  try {
    file = openSync(path, "r")
  } catch {
    return ""
  }
  try {
    return lastLines(file, count)
  } finally {
    closeSync(file)
  }
}

function lastLines(file: number, count: number | undefined): string {
  const { size } = fstatSync(file)
  // A program may write gigabytes without a newline.
  const start = count === undefined ? 0 : Math.max(startOfLines(file, size, count, MOST_TOLD), size - MOST_TOLD)
  const bytes = Buffer.alloc(size - start)
  return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, start))
}

/** The position of the last lines of a file of this size, at most `most` bytes before its end. */
export function startOfLines(file: number, size: number, count: number, most = size): number {
  if (count === 0) return size
  const piece = Buffer.alloc(PIECE)
  // The newline at the end of the file does not start a line.
  let left = count
  for (let end = size - 1; end > 0 && end > size - most; ) {
    const from = Math.max(0, end - PIECE)
    const read = piece.subarray(0, readSync(file, piece, 0, end - from, from))
    for (let at = read.lastIndexOf(LINE_FEED); at !== -1; at = at === 0 ? -1 : read.lastIndexOf(LINE_FEED, at - 1)) {
      left -= 1
      if (left === 0) return from + at + 1
    }
    end = from
  }
  return 0
}
