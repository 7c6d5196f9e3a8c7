// SPDX-License-Identifier: Apache-2.0
// Recorded calls from a file, in the format of the answers API or as a plain list.

import { type ObservedCall, readCalls } from "@merlon/policy/ledger"
import { ShapeError } from "@merlon/policy/shape"
import { CommandError } from "../exit.js"
import { readText } from "../read-text.js"

const MAX_CALLS = 1_000_000
const MAX_BYTES = 500_000_000

export async function callsIn(path: string): Promise<readonly ObservedCall[]> {
  const text = await readText(path, `\`${path}\``, MAX_BYTES)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CommandError("unreadable-file", `\`${path}\` is no JSON; recorded calls are a list of objects`)
  }
  try {
    return readCalls(value, MAX_CALLS)
  } catch (error) {
    throw error instanceof ShapeError ? new CommandError("unreadable-file", `\`${path}\`: ${error.message}`) : error
  }
}
