// SPDX-License-Identifier: Apache-2.0
// Observed calls as JSON: on the wire, on disk and in answers. Parsing is strict, since calls come from proxies and
// files.

import { isObject } from "../resources/field.js"
import { choice, flag, object, optional, type Read, ShapeError, text, whole, wrong } from "../shape/shape.js"
import { CALL_STAGES, type CallRule, type ObservedCall } from "./call.js"

/** Maximum length of any text in a call, in characters. */
const MAX_CALL_TEXT = 1_024

const WORKLOAD = /^[a-z0-9.-]{1,253}\/[a-z0-9.-]{1,253}$/

const words = text(MAX_CALL_TEXT, 1)
const verdict = choice("allow", "deny")
const rule = object<CallRule>({ policy: words, rule: whole(0, 1_000_000) })

const workload: Read<string> = (value, path) => {
  if (typeof value === "string" && WORKLOAD.test(value)) return value
  throw wrong(path, "must be `namespace/name`", value)
}

const time: Read<number> = (value, path) => {
  const at = typeof value === "string" && value.length <= 40 ? Date.parse(value) : Number.NaN
  if (Number.isFinite(at)) return at
  throw wrong(path, "must be a time as `2026-01-02T03:04:05Z`", value)
}

const seenCall = object<ObservedCall>({
  caller: optional(words),
  address: optional(words),
  from: optional(words),
  workload,
  port: whole(0, 65_535),
  protocol: choice("http", "tcp"),
  method: optional(words),
  path: optional(words),
  tls: flag,
  issuer: optional(words),
  verdict,
  stage: choice(...CALL_STAGES),
  rule: optional(rule),
  audit: optional(rule),
  shadow: optional(object<NonNullable<ObservedCall["shadow"]>>({ verdict, rule: optional(rule) })),
  firstSeen: time,
  lastSeen: time,
  count: whole(1, Number.MAX_SAFE_INTEGER),
})

/** Writes times as RFC 3339, for people and for other programs. */
export function writeCall({ firstSeen, lastSeen, ...call }: ObservedCall): Record<string, unknown> {
  return { ...call, firstSeen: new Date(firstSeen).toISOString(), lastSeen: new Date(lastSeen).toISOString() }
}

/** `at` names the value in errors. Throws `ShapeError`. */
export function readCall(value: unknown, at = "call"): ObservedCall {
  const call = seenCall(value, at)
  if (call.lastSeen < call.firstSeen) throw new ShapeError("value", `${at}.lastSeen: must not be before firstSeen`)
  return call
}

/** Reads a list of calls: the response of the API or an array. Throws `ShapeError`. */
export function readCalls(value: unknown, maximum: number): readonly ObservedCall[] {
  const items = isObject(value) && Array.isArray(value.items) ? value.items : value
  if (!Array.isArray(items)) throw new ShapeError("value", "calls: must be a list, or a mapping with `items`")
  if (items.length > maximum)
    throw new ShapeError("value", `calls: there may be at most ${maximum}, and these are ${items.length}`)
  // In the API's response, each call is the `spec` of an object.
  return items.map((item, index) =>
    readCall(isObject(item) && isObject(item.spec) ? item.spec : item, `calls[${index}]`),
  )
}
