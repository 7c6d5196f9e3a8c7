// SPDX-License-Identifier: Apache-2.0
// Resolves when a reply is complete or its client has disconnected.

import type { ServerResponse } from "node:http"

/** The connection is closed if the client reads nothing for this long. */
const STALLED_MS = 30_000

/** Calls `done` at once if the reply is over already: the client may have left while its permissions were checked. */
export function whenOver(reply: ServerResponse, done: () => void): void {
  if (reply.destroyed) done()
  else reply.once("close", done)
}

/** Resolves when the reply is over. A stalled client cannot delay this, because the timeout closes its connection. */
export function over(reply: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    reply.setTimeout(STALLED_MS, () => void reply.destroy())
    whenOver(reply, resolve)
  })
}
