// SPDX-License-Identifier: Apache-2.0
// Reads the whole body of a request, up to a limit.

import type { IncomingMessage } from "node:http"

export class TooLarge extends Error {
  override readonly name = "TooLarge"
}

export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  // no encoding is set, so bytes
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw new TooLarge(`the body has more than ${limit} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
