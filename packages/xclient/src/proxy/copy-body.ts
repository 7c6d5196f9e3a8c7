// SPDX-License-Identifier: Apache-2.0
// A body from one message to another, as fast as the slower side takes it, with its trailers.

import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http"
import { type EndToEndHeaders, endToEndHeaders } from "./hop-by-hop.js"

/** Resolves when all was handed over, rejects where either side ends before. */
export function copyBody(from: IncomingMessage, to: ClientRequest | ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    if (from.destroyed || to.destroyed) return reject(new Error("one side is gone"))
    from.once("error", reject)
    from.once("aborted", () => reject(new Error("the message was cut off")))
    to.once("close", () => reject(new Error("the other side is gone")))
    from.pipe(to, { end: false })
    from.once("end", () => {
      const trailers = endToEndHeaders(from.rawTrailers)
      try {
        if (trailers.size > 0) to.addTrailers(asPairs(trailers))
      } catch {
        // A trailer that cannot be sent is no reason to lose the body.
      }
      to.end()
      resolve()
    })
  })
}

function asPairs(trailers: EndToEndHeaders): [string, string][] {
  return [...trailers.values()].flatMap(({ name, values }) => values.map((value): [string, string] => [name, value]))
}
