// SPDX-License-Identifier: Apache-2.0
// A curl line as the form's fields.

import { readCurl } from "@merlon/policy/trial"

interface FormFields {
  readonly method: string
  readonly path: string
  /** A line each. */
  readonly headers: string
}

/** A text where it cannot be read, saying why. */
export function requestOf(line: string): FormFields | string {
  try {
    const { method = "GET", path = "/", host, headers = {} } = readCurl(line)
    const named = Object.entries(headers).flatMap(([name, values]) => [values].flat().map(value => `${name}: ${value}`))
    return { method, path, headers: [...(host ? [`host: ${host}`] : []), ...named].join("\n") }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
