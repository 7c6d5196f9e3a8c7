// SPDX-License-Identifier: Apache-2.0
// Resolves when a reply is complete or its client has disconnected.

import type { ServerResponse } from "node:http"

/** Who takes nothing of an answer for so long takes no more of it. */
const STALLED_MS = 30_000

/** Calls `done` at once if the reply is over already: the caller may have left while its permissions were checked. */
export function whenOver(reply: ServerResponse, done: () => void): void {
  if (reply.destroyed) done()
  else reply.once("close", done)
}

/** Settles when it is over, which a reader that has stalled cannot keep from being so. */
export function over(reply: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    reply.setTimeout(STALLED_MS, () => void reply.destroy())
    whenOver(reply, resolve)
  })
}
