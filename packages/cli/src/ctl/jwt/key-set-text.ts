// SPDX-License-Identifier: Apache-2.0
// Reads a key set from a file or a URL.

import { CommandError } from "../exit.js"
import { readText } from "../read-text.js"

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024

export async function keySetText(from: string): Promise<string> {
  if (/^https?:\/\//i.test(from)) return fetched(from)
  return readText(from, "the key set")
}

/** Redirects are rejected like in the control plane, so that a URL that works here works there. */
async function fetched(url: string): Promise<string> {
  try {
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString("utf8")
  } catch (error) {
    const { message, cause } = error as Error // fetch throws errors
    const why = cause instanceof Error ? `${message}: ${cause.message}` : message
    throw new CommandError("unreachable-url", `cannot fetch the key set \`${url}\`: ${why}`)
  }
}
