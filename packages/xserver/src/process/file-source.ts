// SPDX-License-Identifier: Apache-2.0
// Follows a configuration file and the files it names. They are looked at by their time and size: a mounted ConfigMap is
// replaced by switching a link, which notification by the system does not report.

import { statSync } from "node:fs"
import type { Configuration } from "../config/configuration.js"
import { readConfigurationFile } from "../config/file.js"

const LOOK_MS = 500

export interface FileSource {
  /** Reads anew, whether anything changed or not. */
  reload(): void
  close(): void
}

/** `deliver` gets every new configuration, `fail` what could not be read; what is in force then stays. */
export function followFile(
  path: string,
  deliver: (configuration: Configuration) => void,
  fail: (error: unknown) => void,
): FileSource {
  let revision = 0
  let watched: readonly string[] = [path]
  let seen = ""

  const reload = (): void => {
    seen = fingerprint(watched)
    try {
      const { configuration, files } = readConfigurationFile(path, ++revision)
      watched = files
      seen = fingerprint(watched)
      deliver(configuration)
    } catch (error) {
      fail(error)
    }
  }
  const timer = setInterval(() => {
    if (fingerprint(watched) !== seen) reload()
  }, LOOK_MS)
  return { reload, close: () => clearInterval(timer) }
}

function fingerprint(files: readonly string[]): string {
  return files
    .map(file => {
      const stats = statSync(file, { throwIfNoEntry: false })
      return stats === undefined ? "-" : `${stats.mtimeMs}/${stats.size}/${stats.ino}`
    })
    .join(" ")
}
