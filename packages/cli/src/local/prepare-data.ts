// SPDX-License-Identifier: Apache-2.0
// The data folder before anything is written to it. It holds the keys of the mesh, so it is its owner's alone: whoever else
// may write there could put links in the place of files.

import { accessSync, chmodSync, constants, mkdirSync, statSync } from "node:fs"
import { messageOf } from "@merlon/xds"
import { CommandError } from "../ctl/exit.js"

export function prepareData(data: string, uid = process.getuid?.()): void {
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    accessSync(data, constants.W_OK | constants.X_OK)
    const owner = statSync(data).uid
    if (uid !== undefined && owner !== uid) throw new Error(`it belongs to another user (uid ${owner})`)
    chmodSync(data, 0o700)
  } catch (error) {
    const why = messageOf(error)
    throw new CommandError(`cannot keep anything in \`${data}\`: ${why}; choose another place with \`--data\``)
  }
}
