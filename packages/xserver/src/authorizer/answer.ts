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
  /** Those of `removeHeaders` whose names only resemble one that callers may not write. */
  readonly forged: readonly string[]
}

/** `isForged`: a header whose name only resembles one that callers may not write. */
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

/** Envoy takes headers to add from the response, and those to remove from a list in it. Other gateways copy the headers they are told to. */
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

/** Those of a denial, with the type of its content where that is not the usual one. */
export function headersOf({ contentType, fields }: LocalReply): FieldPairs {
  return contentType === undefined ? fields : [...fields, ["content-type", contentType]]
}

/** Names of the query parameters that are in the first target and no longer in the second. */
function parametersGone(before: string, after: string): readonly string[] {
  if (before === after) return []
  const left = new Set(parameterNames(after))
  return [...new Set(parameterNames(before))].filter(name => !left.has(name))
}

function parameterNames(target: string): readonly string[] {
  const query = target.indexOf("?")
  return query < 0 ? [] : [...new URLSearchParams(target.slice(query + 1)).keys()]
}
