// SPDX-License-Identifier: Apache-2.0
// Identifies the folder in which a file was written. A moved folder keeps its identity. A copy gets another one,
// because the processes in its files belong to the original.

import { statSync } from "node:fs"

/** Undefined if the folder does not exist. */
export function folderIdentity(folder: string): string | undefined {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
