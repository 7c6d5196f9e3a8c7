// SPDX-License-Identifier: Apache-2.0
// A key set to check against, from a file or a URL.

import { readFileSync } from "node:fs"
import { CommandError, EXIT } from "../exit.js"

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024

export async function keySetText(from: string): Promise<string> {
  if (/^https?:\/\//i.test(from)) return fetched(from)
  try {
    return readFileSync(from === "-" ? 0 : from, "utf8")
  } catch (error) {
    throw new CommandError(`cannot read the key set \`${from}\`: ${(error as Error).message}`)
  }
}

/** Redirects are refused, as by the control plane: what works here works there. */
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
    const { message, cause } = error as Error // what fetch throws
    const why = cause instanceof Error ? `${message}: ${cause.message}` : message
    throw new CommandError(`cannot fetch the key set \`${url}\`: ${why}`, EXIT.unreachable)
  }
}
