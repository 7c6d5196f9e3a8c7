// SPDX-License-Identifier: Apache-2.0
// Watches folders for changes. A file is watched through its folder, because an editor may replace it.

import { type FSWatcher, statSync, watch } from "node:fs"
import { basename, dirname, resolve } from "node:path"

export class WatchedFolders {
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #changed: () => void
  readonly #ignored: string | undefined
  #isClosed = false

  /** `written`: a file that we write ourselves, whose changes are ignored. */
  constructor(changed: () => void, written: string | undefined) {
    this.#changed = changed
    this.#ignored = written === undefined ? undefined : basename(written)
  }

  /** What is not there is left out. Once closed, nothing is watched: a run that is still reading would keep the process. */
  add(paths: readonly string[]): void {
    if (this.#isClosed) return
    for (const path of paths) {
      const found = statSync(path, { throwIfNoEntry: false })
      const folder = resolve(found?.isDirectory() === true ? path : dirname(path))
      if (found === undefined || this.#watchers.has(folder)) continue
      const watcher = watch(folder, { recursive: true }, (_, name) => {
        if (name === null || this.#ignored === undefined || basename(name) !== this.#ignored) this.#changed()
      })
      // A deleted folder is not an error: the next run reports what is missing.
      watcher.on("error", () => this.#drop(folder))
      this.#watchers.set(folder, watcher)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder)
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }
}
