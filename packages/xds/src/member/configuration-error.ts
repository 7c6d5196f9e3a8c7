// SPDX-License-Identifier: Apache-2.0
// The error for a configuration file that cannot be used.

import { type Read, ShapeError } from "@merlon/policy/shape"
import type { ConfigurationCode } from "../errors.js"

export class ConfigurationError extends Error {
  constructor(
    readonly code: ConfigurationCode,
    message: string,
  ) {
    super(message)
  }
}

const CODES = { field: "config-field", value: "config-value" } as const

/** Reads a parsed document. Throws `ConfigurationError`. */
export function readSettings<T>(document: unknown, read: Read<T>): T {
  try {
    return read(document, "")
  } catch (error) {
    if (error instanceof ShapeError) throw new ConfigurationError(CODES[error.about], error.message)
    throw error
  }
}
