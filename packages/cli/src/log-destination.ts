// SPDX-License-Identifier: Apache-2.0
// Where long-running programs write their log: synchronously to standard error. Lines that cannot be written, because the
// disk is full or the reader is gone, are dropped and stop nothing.

import { fileOutput } from "@merlon/xds/runtime"
import { type DestinationStream, destination } from "pino"

const STANDARD_ERROR = 2
/**
 * The limit of unread bytes. Lines beyond it are dropped; otherwise a reader that has stopped would cost unlimited
 * memory.
 */
const MOST_WAITING = 1 << 20

export function logDestination(): DestinationStream {
  const file = fileOutput(STANDARD_ERROR)
  if (file !== undefined) return file
  const stream = destination({ dest: STANDARD_ERROR, sync: true, maxLength: MOST_WAITING })
  stream.on("error", () => undefined)
  return stream
}
