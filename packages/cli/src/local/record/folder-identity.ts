// SPDX-License-Identifier: Apache-2.0
// Which folder a file was written in. A folder that was moved is still the same; a copy is another one, and the processes
// that its files name are not its own.

import { statSync } from "node:fs"

/** Undefined where there is no such folder. */
export function folderIdentity(folder: string): string | undefined {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
