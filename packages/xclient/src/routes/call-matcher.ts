// SPDX-License-Identifier: Apache-2.0
// A compiled route match. One of its alternatives must match, with all its fields. A field that a request lacks never
// matches, whatever the pattern.

import { readableText } from "@merlon/policy/request"
import { type RouteMatch, type StringMatch, stringMatcher } from "@merlon/policy/resources"
import type { Call } from "./call.js"

export type CallMatcher = (call: Call) => boolean

/** An empty list matches every call. */
export function callMatcher(match: readonly RouteMatch[], port: number): CallMatcher {
  const alternatives = match.map(alternative => matcherOf(alternative, port))
  return call => alternatives.length === 0 || alternatives.some(matches => matches(call))
}

function matcherOf(match: RouteMatch, port: number): CallMatcher {
  const conditions: CallMatcher[] = []
  const add = (pattern: StringMatch | undefined, read: (call: Call) => string) => {
    if (pattern === undefined) return
    const matches = stringMatcher(pattern)
    conditions.push(call => matches(read(call)))
  }
  if (match.port !== undefined && match.port !== port) return () => false
  add(match.uri, ({ target }) => pathOf(target))
  add(match.method, ({ method }) => method)
  add(match.host, ({ host }) => host)
  for (const [name, pattern] of Object.entries(match.headers ?? {})) {
    const matches = stringMatcher(pattern)
    const key = name.toLowerCase()
    conditions.push(call => {
      const value = fieldOf(call, key)
      return value !== undefined && matches(value)
    })
  }
  for (const [name, pattern] of Object.entries(match.queryParams ?? {})) {
    const matches = stringMatcher(pattern)
    conditions.push(({ target }) => parametersOf(target).getAll(name).some(matches))
  }
  return call => conditions.every(matches => matches(call))
}

/** Includes HTTP/2 pseudo-headers, as names for the parts of a call (RFC 9113 section 8.3.1). */
function fieldOf({ method, host, target, headers }: Call, name: string): string | undefined {
  switch (name) {
    case ":method":
      return method
    case ":path":
      return target
    case ":authority":
      return headers.get("host") ?? host
    case ":scheme":
      return "http"
    default: {
      const bytes = headers.get(name)
      return bytes === undefined ? undefined : readableText(bytes)
    }
  }
}

function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return end === -1 ? target : target.slice(0, end)
}

function parametersOf(target: string): URLSearchParams {
  const start = target.indexOf("?")
  return new URLSearchParams(start === -1 ? "" : target.slice(start))
}
