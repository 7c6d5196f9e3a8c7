// SPDX-License-Identifier: Apache-2.0
// A received resource that cannot be used. It is never applied in part, and the current state stays in effect.

import { type Read, ShapeError } from "@merlon/policy/shape"
import type { ResourceCode } from "./errors.js"

export class MalformedResource extends Error {
  override readonly name = "MalformedResource"

  constructor(
    message: string,
    readonly code: ResourceCode = "malformed-resource",
  ) {
    super(message)
  }
}

/** Throws `MalformedResource`. `within` names the document in the message. */
export function readJson<T>(json: string, read: Read<T>, within?: string): T {
  try {
    return read(parsed(json), "")
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    throw new MalformedResource(within === undefined ? error.message : `${within}: ${error.message}`)
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new ShapeError("value", "is not JSON")
  }
}
