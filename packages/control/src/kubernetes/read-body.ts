// SPDX-License-Identifier: Apache-2.0
// Reads a whole response body as text, and as JSON if it is JSON. The size is limited, so that a broken server cannot
// exhaust the memory.

import { ApiError } from "./client.js"

const MAX_BODY = 256 << 20

export async function readBody(
  body: AsyncIterable<Buffer>, // no encoding is set, so chunks are bytes
): Promise<{ readonly value: unknown; readonly text: string }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_BODY)
      throw ApiError.unanswered("api-response-too-large", `the API server answered with more than ${MAX_BODY} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString("utf8")
  try {
    return { value: JSON.parse(text), text }
  } catch {
    return { value: undefined, text }
  }
}
