// SPDX-License-Identifier: Apache-2.0
// A data folder before anything is written to it: the first file that cannot be made would speak of itself, and not of the flag.

import { accessSync, constants, mkdirSync } from "node:fs"
import { messageOf } from "@merlon/xds/runtime"

export function makeWritable(data: string): void {
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    accessSync(data, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw unusable(data, messageOf(error))
  }
}

export function unusable(data: string, why: string): Error {
  return new Error(`cannot keep anything in \`${data}\`: ${why}; choose another place with \`--data\``)
}
