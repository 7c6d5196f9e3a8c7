// SPDX-License-Identifier: Apache-2.0
// Truncates a log that exceeds its limit while its process writes to it. The process has the file open for appending,
// so the file stays and its contents move to the older log, which they replace. A line written meanwhile may be lost.

import { copyFile, rm, stat, truncate } from "node:fs/promises"

/** With the rotated file, a process uses about twice as much of the disk, plus what it writes until the next check. */
export const MOST_LOGGED = 64 << 20

export async function boundLog(path: string, most: number): Promise<void> {
  const size = await stat(path).then(
    found => found.size,
    () => 0,
  )
  if (size <= most) return
  const older = `${path}.1`
  // A full disk has no space for a copy, and urgently needs the space that the log takes.
  await copyFile(path, older).catch(() => rm(older, { force: true }))
  await truncate(path, 0)
}
