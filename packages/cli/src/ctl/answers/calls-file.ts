// SPDX-License-Identifier: Apache-2.0
// Recorded calls from a file, as the answers API gives them or as a plain list.

import { readFile } from "node:fs/promises"
import { readCalls, type SeenCall, ShapeError } from "@merlon/policy"
import { CommandError } from "../exit.js"
import { standardInput } from "../read-text.js"

const MAX_CALLS = 1_000_000

export async function callsIn(path: string): Promise<readonly SeenCall[]> {
  const text = path === "-" ? await standardInput() : await readFile(path, "utf8").catch(unreadable(path))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CommandError(`\`${path}\` is no JSON; recorded calls are a list of objects`)
  }
  try {
    return readCalls(value, MAX_CALLS)
  } catch (error) {
    throw error instanceof ShapeError ? new CommandError(`\`${path}\`: ${error.message}`) : error
  }
}

function unreadable(path: string): (error: Error) => never {
  return error => {
    throw new CommandError(`\`${path}\` cannot be read: ${error.message}`)
  }
}
