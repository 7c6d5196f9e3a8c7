// SPDX-License-Identifier: Apache-2.0
// The data folder before anything is written to it. It holds the keys of the mesh, so it is its owner's alone: whoever else
// may write there could put links in the place of files.

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
