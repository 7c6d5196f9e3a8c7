// SPDX-License-Identifier: Apache-2.0
// Validates the answer of a provider of CUSTOM policies: only headers that its declaration names, only statuses that
// deny, and no character that could end a header line. Everything else is a failure.

import type { AuthorizationProvider } from "@merlon/policy/mesh"
import { FIELD_KIND, fieldName } from "@merlon/wire"
import type { FieldPairs } from "@merlon/wire/http"

export const PROVIDER_FAILURES = {
  undeclared: "the mesh configuration does not declare it",
  unreachable: "it cannot be reached",
  timeout: "it did not answer in time",
  overloaded: "too many requests wait for it",
  broken: "the connection to it broke",
  malformed: "its answer is malformed",
  "too-large": "its answer is too large",
  error: "it reported an error",
  changing: "the policies changed after each of its answers",
} as const

export type ProviderFailure = keyof typeof PROVIDER_FAILURES

export type ProviderAnswer =
  | { readonly outcome: "allowed"; readonly setHeaders: FieldPairs; readonly removeHeaders: readonly string[] }
  | { readonly outcome: "denied"; readonly status: number; readonly body: string; readonly headers: FieldPairs }
  | { readonly outcome: "failed"; readonly why: ProviderFailure }

/** Size of an answer, including its headers. */
export const MAX_ANSWER_BYTES = 64 * 1024
const MAX_ANSWER_HEADERS = 100
const DEFAULT_STATUS = 403
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
/** A value may contain tabs, but no other control characters. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

export function failed(why: ProviderFailure): ProviderAnswer {
  return { outcome: "failed", why }
}

export function allowance(
  { headersToUpstream }: AuthorizationProvider,
  headers: FieldPairs,
  removeHeaders: readonly string[],
): ProviderAnswer {
  const removed = removeHeaders.map(name => name.toLowerCase())
  if (!areHeaders(headers) || removed.length > MAX_ANSWER_HEADERS || !removed.every(isRemovable)) {
    return failed("malformed")
  }
  return { outcome: "allowed", setHeaders: named(headers, headersToUpstream), removeHeaders: removed }
}

/** `status` is 0 if the answer has none. */
export function denial(
  { headersToCaller }: AuthorizationProvider,
  status: number,
  body: string,
  headers: FieldPairs,
): ProviderAnswer {
  if (!areHeaders(headers)) return failed("malformed")
  const shown = status === 0 ? DEFAULT_STATUS : status
  // A denial must not look like success, and 304 has no content.
  if (shown < 300 || shown > 599 || shown === 304) return failed("malformed")
  return { outcome: "denied", status: shown, body, headers: named(headers, headersToCaller) }
}

function areHeaders(headers: FieldPairs): boolean {
  return headers.length <= MAX_ANSWER_HEADERS && headers.every(([name, value]) => NAME.test(name) && VALUE.test(value))
}

/** Excludes headers that frame the message, and those that the proxy sets. */
function isRemovable(name: string): boolean {
  const { kind } = fieldName(name)
  return NAME.test(name) && (kind === FIELD_KIND.plain || kind === FIELD_KIND.cookie)
}

function named(headers: FieldPairs, names: readonly string[]): FieldPairs {
  return headers.filter(([name]) => names.includes(name))
}
