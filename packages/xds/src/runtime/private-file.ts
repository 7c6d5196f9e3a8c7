// SPDX-License-Identifier: Apache-2.0
// Files that contain a key: readable by their owner only, written to a new file and renamed into place, so that a crash
// leaves either the old or the new one.

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { join } from "node:path"

export function writePrivateFile(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `${name}.${process.pid}.new`)
  // Always created: an existing file may be readable by others, or a link.
  rmSync(temporary, { force: true })
  const file = openSync(temporary, "wx", 0o600)
  try {
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, join(folder, name))
    syncFolder(folder)
  } catch (error) {
    // Otherwise every attempt on a full disk would leave a file that holds part of a key.
    rmSync(temporary, { force: true })
    throw error
  }
}

/** The same without blocking the process. A file must not be written concurrently. */
export async function writePrivateFileLater(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `${name}.${process.pid}.new`)
  await rm(temporary, { force: true })
  try {
    const file = await open(temporary, "wx", 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(folder, name))
    const opened = await open(folder, "r")
    try {
      await opened.sync()
    } finally {
      await opened.close()
    }
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Persistent when it returns. Throws if the file exists and cannot be removed. */
export function removePrivateFile(folder: string, name: string): void {
  try {
    unlinkSync(join(folder, name))
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return
    throw error
  }
  syncFolder(folder)
}

// Without this, a power failure could bring the old file back.
function syncFolder(folder: string): void {
  const opened = openSync(folder, "r")
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** Undefined if there is none. */
export function readPrivateFile(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), "utf8")
  } catch {
    return undefined
  }
}
