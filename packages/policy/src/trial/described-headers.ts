// SPDX-License-Identifier: Apache-2.0
// Parses headers as a person writes them into what a proxy reads: case-insensitive names, one value per line, trimmed,
// text as UTF-8. `Host` is handled separately. Headers that no request can have are rejected, or the answer would be
// about a different request.

import { byteText, withoutOuterBlanks } from "../request/byte-text.js"
import { FIELD_NAME } from "../resources/header-name.js"
import { RequestDescriptionError } from "./request-description-error.js"

export interface ReadHeaders {
  /** By lower-case name. */
  readonly lines: Map<string, string[]>
  /** The value of the `Host` header. */
  readonly host: string | undefined
}

const NAME = new RegExp(FIELD_NAME)
/** RFC 9110 section 5.5: control characters are not allowed in a field value. */
const CONTROL = /[^\t\x20-\x7e\x80-\uffff]/

export function readHeaders(written: { readonly [name: string]: string | readonly string[] }): ReadHeaders {
  const lines = new Map<string, string[]>()
  for (const [name, value] of Object.entries(written)) {
    if (!NAME.test(name)) {
      const instead = name.startsWith(":") ? "; write `method`, `path` or `host`" : ""
      throw new RequestDescriptionError(`\`${name}\` is no name of a header${instead}`)
    }
    const key = name.toLowerCase()
    const values = typeof value === "string" ? [value] : value
    lines.set(key, [...(lines.get(key) ?? []), ...values.map(one => fieldValue(name, one))])
  }
  const [host, ...others] = lines.get("host") ?? []
  if (others.length > 0) throw new RequestDescriptionError("a request has one `Host`, or it is answered with 400")
  lines.delete("host")
  return { lines, host }
}

function fieldValue(name: string, value: string): string {
  if (CONTROL.test(value))
    throw new RequestDescriptionError(`the value of \`${name}\` has a control character, which no header can hold`)
  return byteText(withoutOuterBlanks(value))
}
