// SPDX-License-Identifier: Apache-2.0
// Identifies the folder in which a file was written. A moved folder is the same; a copy is another one, and the processes
// that its files name belong to the original.

import { statSync } from "node:fs"

/** Undefined where there is no such folder. */
export function folderIdentity(folder: string): string | undefined {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
