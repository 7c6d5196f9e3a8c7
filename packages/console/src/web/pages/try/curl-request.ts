// SPDX-License-Identifier: Apache-2.0
// Converts a curl command to the fields of the form.

import { readCurl } from "@merlon/policy/trial"

interface FormFields {
  readonly method: string
  readonly path: string
  /** One header per line. */
  readonly headers: string
}

/** Returns the error message if the command is invalid. */
export function requestOf(line: string): FormFields | string {
  try {
    const { method = "GET", path = "/", host, headers = {} } = readCurl(line)
    const named = Object.entries(headers).flatMap(([name, values]) => [values].flat().map(value => `${name}: ${value}`))
    return { method, path, headers: [...(host ? [`host: ${host}`] : []), ...named].join("\n") }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
