// SPDX-License-Identifier: Apache-2.0
// Turns an accepted request into the one that the application gets: removes output headers that callers sent, removes
// tokens unless the accepting rule forwards them, and writes output headers. If a parameter or cookie occurs twice,
// only the first was verified, so the others never reach the application, even if the rule forwards tokens.

import { withoutCookies } from "./cookies.js"
import { NO_EDITS, type RequestEdits, removalOf } from "./edits.js"
import type { Spot, TokenRequest } from "./finder.js"
import { withoutParameters } from "./query.js"

type Names = Set<string>

/** Removes only the callers' output headers, from a request in which no token was found or looked for. */
export function scrub(outputs: readonly string[], { headers }: TokenRequest): RequestEdits {
  let present: string[] | undefined
  for (const name of outputs) {
    if (headers.get(name) === undefined) continue
    present ??= []
    present.push(name)
  }
  return present === undefined ? NO_EDITS : removalOf(...present)
}

export function editsFor(outputs: readonly string[], spots: readonly Spot[], request: TokenRequest): RequestEdits {
  const scrubbed = scrub(outputs, request)
  const only = spots[0]
  if (only === undefined) return scrubbed
  // The common case, almost without allocation: one token, in a header, and no forged output header.
  if (spots.length === 1 && only.removal !== undefined && scrubbed === NO_EDITS) {
    const taken = only.by?.forward === true ? NO_EDITS : only.removal
    const setHeaders = only.view?.headers ?? []
    return setHeaders.length === 0 ? taken : { ...taken, setHeaders }
  }

  const removed: Names = new Set(scrubbed.removeHeaders)
  const params = { all: new Set<string>(), repeats: new Set<string>() }
  const cookies = { all: new Set<string>(), repeats: new Set<string>() }
  for (const { kind, name, by } of spots) {
    const forward = by?.forward === true
    if (kind === "param") (forward ? params.repeats : params.all).add(name)
    else if (kind === "cookie") (forward ? cookies.repeats : cookies.all).add(name)
    else if (!forward) removed.add(name)
  }

  const target = withoutParameters(request.target, params.all, params.repeats)
  const cookie = cookieEdit(cookies.all, cookies.repeats, removed, request)
  return {
    removeHeaders: [...removed],
    setHeaders: headersFrom(spots),
    target: target === request.target ? undefined : target,
    cookie,
  }
}

function cookieEdit(all: Names, repeats: Names, removed: Names, { headers }: TokenRequest): string | undefined {
  const lines = headers.get("cookie")
  if (all.size + repeats.size === 0 || lines === undefined || removed.has("cookie")) return undefined
  const kept = withoutCookies(lines, all, repeats)
  if (kept === "") removed.add("cookie")
  return kept === "" || kept === lines.join("; ") ? undefined : kept
}

/** If two rules write one header, the first in rule order counts, with its first token. */
function headersFrom(spots: readonly Spot[]): RequestEdits["setHeaders"] {
  const headers = new Map<string, readonly [string, string]>()
  const inOrder = [...spots].sort((a, b) => (a.by?.order ?? 0) - (b.by?.order ?? 0))
  for (const { view } of inOrder) {
    for (const header of view?.headers ?? []) if (!headers.has(header[0])) headers.set(header[0], header)
  }
  return [...headers.values()]
}
