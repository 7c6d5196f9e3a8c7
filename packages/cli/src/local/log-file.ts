// SPDX-License-Identifier: Apache-2.0
// Logs of processes: begun anew with each start, the one before is kept; read from their end.

import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync } from "node:fs"
import { dirname } from "node:path"

const PIECE = 65_536

/** Opened for appending. The file may hold what callers sent, so it is the owner's alone. */
export function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return openSync(path, "a", 0o600)
}

export function rotateLog(path: string): void {
  if (existsSync(path)) renameSync(path, `${path}.1`)
}

/** The last lines, at most; all of them where `count` is undefined. */
export function tailOf(path: string, count: number | undefined): string {
  let file: number
  try {
    file = openSync(path, "r")
  } catch {
    return ""
  }
  try {
    return lastLines(file, count ?? Number.POSITIVE_INFINITY)
  } finally {
    closeSync(file)
  }
}

function lastLines(file: number, count: number): string {
  const pieces: Buffer[] = []
  let start = fstatSync(file).size
  let lines = 0
  // One line more than asked for, so that the first of them is whole.
  while (start > 0 && lines <= count) {
    const length = Math.min(PIECE, start)
    start -= length
    const piece = Buffer.alloc(length)
    const read = readSync(file, piece, 0, length, start)
    pieces.unshift(piece.subarray(0, read))
    for (const byte of piece) if (byte === 0x0a) lines += 1
  }
  const text = Buffer.concat(pieces).toString("utf8")
  if (!Number.isFinite(count)) return text
  const all = text.split(/(?<=\n)/)
  return count === 0 ? "" : all.slice(-count).join("")
}
