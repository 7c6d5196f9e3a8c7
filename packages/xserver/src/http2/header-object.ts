// SPDX-License-Identifier: Apache-2.0
// Header lines in the form node:http2 takes them. Lines of one name become one value, except those of `Set-Cookie`,
// which cannot be joined (RFC 9110 section 5.3).

import type { OutgoingHttpHeaders } from "node:http2"

export function headerObject(list: readonly (readonly [name: string, value: string])[]): OutgoingHttpHeaders {
  // Without a prototype, so that `__proto__` is a name like any other.
  const headers: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of list) {
    const before = headers[name]
    if (before === undefined) headers[name] = name === "set-cookie" ? [value] : value
    else if (Array.isArray(before)) before.push(value)
    else headers[name] = `${before}${name === "cookie" ? "; " : ", "}${value}`
  }
  return headers
}
