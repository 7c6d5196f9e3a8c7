// SPDX-License-Identifier: Apache-2.0
// Follows a log as it grows, also over a restart of its process, when another file takes its name.

import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

const LOOK_EVERY_MS = 200
const PIECE = 65_536

/** Hands out what is added from now on, until the signal. */
export async function followLog(path: string, write: (bytes: Buffer) => void, signal: AbortSignal): Promise<void> {
  let file = open(path)
  let position = file === undefined ? 0 : fstatSync(file).size
  while (!signal.aborted) {
    if (file !== undefined) position = drain(file, position, write)
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

function drain(file: number, from: number, write: (bytes: Buffer) => void): number {
  let position = from
  for (;;) {
    const piece = Buffer.alloc(PIECE)
    const read = readSync(file, piece, 0, PIECE, position)
    if (read === 0) return position
    position += read
    write(piece.subarray(0, read))
  }
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
