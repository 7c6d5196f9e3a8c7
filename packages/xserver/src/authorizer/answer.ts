// SPDX-License-Identifier: Apache-2.0
// The changes that a gateway makes to an allowed request: claims that become headers, tokens and forged headers that
// must not reach the application. Pure.

import type { Judgement } from "@merlon/policy/authorization"
import type { FieldPairs, LocalReply } from "@merlon/wire/http"
import type { CheckAnswer } from "@merlon/xds/authz"
import type { Question } from "./question.js"

export interface RequestChanges {
  readonly setHeaders: readonly (readonly [name: string, value: string])[]
  readonly removeHeaders: readonly string[]
  readonly removeParameters: readonly string[]
  /** Headers in `removeHeaders` whose names only resemble a header that callers may not write. */
  readonly forged: readonly string[]
}

/** `isForged`: whether a header's name only resembles one that callers may not write. */
export function changesOf(
  { edits, target }: Extract<Judgement, { verdict: "allow" }>,
  { request, headerNames }: Question,
  isForged: (name: string) => boolean,
): RequestChanges {
  const { setHeaders, removeHeaders, cookie } = edits
  const written = new Set(setHeaders.map(([name]) => name))
  const forged = headerNames().filter(name => isForged(name))
  const removed = new Set([...removeHeaders, ...forged, ...(cookie === "" ? ["cookie"] : [])])
  return {
    setHeaders: cookie === undefined || cookie === "" ? setHeaders : [...setHeaders, ["cookie", cookie]],
    removeHeaders: [...removed].filter(name => !written.has(name)),
    removeParameters: parametersGone(request.target, target),
    forged,
  }
}

/**
 * Envoy adds the headers of the response to the request, and removes those that a list in the response names. Other
 * gateways copy the headers that they are configured to copy.
 */
export function httpAllowance({ setHeaders, removeHeaders }: RequestChanges): LocalReply {
  const removal =
    removeHeaders.length === 0 ? [] : [["x-envoy-auth-headers-to-remove", removeHeaders.join(",")] as const]
  return { status: 200, body: "", fields: [...setHeaders, ...removal] }
}

export function checkAllowance({ setHeaders, removeHeaders, removeParameters }: RequestChanges): CheckAnswer {
  return { verdict: "allow", setHeaders, removeHeaders, removeParameters }
}

export function checkDenial(reply: LocalReply): CheckAnswer {
  return { verdict: "deny", status: reply.status, body: reply.body, headers: headersOf(reply) }
}

/** The headers of a denial, with its content type if that is not the default. */
export function headersOf({ contentType, fields }: LocalReply): FieldPairs {
  return contentType === undefined ? fields : [...fields, ["content-type", contentType]]
}

/** Names of the query parameters in `before` that are missing from `after`. */
function parametersGone(before: string, after: string): readonly string[] {
  if (before === after) return []
  const left = new Set(parameterNames(after))
  return [...new Set(parameterNames(before))].filter(name => !left.has(name))
}

function parameterNames(target: string): readonly string[] {
  const query = target.indexOf("?")
  return query < 0 ? [] : [...new URLSearchParams(target.slice(query + 1)).keys()]
}
