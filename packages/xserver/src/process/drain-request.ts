// SPDX-License-Identifier: Apache-2.0
// How another process of the Pod requests a drain: a file in xserver's state folder. A signal would need xserver's
// process id, which containers with a shared process namespace do not know, and a port would be open to others.

import { existsSync, mkdirSync, rmSync, watch, writeFileSync } from "node:fs"
import { join } from "node:path"

const FILE = "drain-requested"

export function requestDrain(stateFolder: string): void {
  writeFileSync(join(stateFolder, FILE), "")
}

/** Calls `onRequest` once when a drain is requested from now on; a request to an earlier process is ignored. */
export function awaitDrainRequest(stateFolder: string, onRequest: () => void): void {
  const file = join(stateFolder, FILE)
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 })
  rmSync(file, { force: true })
  const watcher = watch(stateFolder, { persistent: false }, () => {
    if (!existsSync(file)) return
    watcher.close()
    onRequest()
  })
  // Without a watch a rollout may lose requests, which is better than serving none.
  watcher.on("error", () => watcher.close())
}
