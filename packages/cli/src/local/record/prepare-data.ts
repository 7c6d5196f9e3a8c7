// SPDX-License-Identifier: Apache-2.0
// Prepares the data folder. It contains the mesh's keys, so only its owner may access it: another user with write access
// could replace files with symlinks.

import { chmodSync, statSync } from "node:fs"
import { messageOf } from "@merlon/xds/runtime"
import { makeWritable, unusable } from "../../writable-folder.js"

export function prepareData(data: string, uid = process.getuid?.()): void {
  makeWritable(data)
  const owner = statSync(data).uid
  if (uid !== undefined && owner !== uid) throw unusable(data, `it belongs to another user (uid ${owner})`)
  try {
    chmodSync(data, 0o700)
  } catch (error) {
    throw unusable(data, messageOf(error))
  }
}
