// SPDX-License-Identifier: Apache-2.0
// Checks a data folder before anything is written to it, so that the error names the flag instead of the first file
// that could not be created.

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
