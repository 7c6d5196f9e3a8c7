// SPDX-License-Identifier: Apache-2.0
// One attempt to fetch an issuer's keys: discovery if the rule has no URL, the fetch, and parsing, with one deadline.
// An unusable key set is an error, so that it never replaces a good one.

import { type KeySet, parseKeySet } from "@merlon/policy/tokens"
import type { Clock } from "../observe/clock.js"
import { cacheLifetime } from "./cache-lifetime.js"
import { discover } from "./discovery.js"
import { type GuardedGetOptions, guardedGet, readUrl, shownUrl } from "./guarded-get.js"

export interface KeySetSource {
  readonly issuer: string | undefined
  readonly jwksUri: string | undefined
  readonly timeoutMs: number
  /**
   * PEM of the only authorities that may have issued the server's certificate; undefined for those of the control
   * plane.
   */
  readonly caBundle?: string | undefined
}

export type FetchedKeySet =
  | {
      readonly ok: true
      readonly jwks: string
      readonly keySet: KeySet
      /** Milliseconds until the next fetch. */
      readonly lifetime: number
    }
  | { readonly ok: false; readonly error: string }

export interface FetchOptions extends GuardedGetOptions {
  readonly clock: Clock
}

export async function fetchJwks(
  source: KeySetSource,
  signal: AbortSignal,
  { clock, ...options }: FetchOptions,
): Promise<FetchedKeySet> {
  const deadline = new AbortController()
  const abort = (): void => deadline.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener("abort", abort, { once: true })
  const cancel = clock.after(source.timeoutMs, () =>
    deadline.abort(new Error(`timed out after ${source.timeoutMs / 1_000} s`)),
  )
  try {
    const { caBundle: onlyAuthorities } = source
    return await attempt(source, deadline.signal, {
      ...options,
      ...(onlyAuthorities !== undefined && { onlyAuthorities }),
    })
  } finally {
    cancel()
    signal.removeEventListener("abort", abort)
  }
}

async function attempt(
  { issuer, jwksUri, caBundle }: KeySetSource,
  signal: AbortSignal,
  options: GuardedGetOptions,
): Promise<FetchedKeySet> {
  let location = jwksUri
  if (location === undefined) {
    if (issuer === undefined)
      return { ok: false, error: "neither `issuer` nor `jwksUri` is set, so there is no URL to fetch keys from" }
    const discovered = await discover(issuer, signal, options)
    if (!discovered.ok) return discovered
    location = discovered.jwksUri
  }
  // Fail closed: an issuer with authorities of its own needs TLS for its keys, even if its discovery document names
  // another URL.
  if (caBundle !== undefined && !location.startsWith("https:")) {
    return { ok: false, error: "the keys are not at an https URL, and the rule has a `caBundle`" }
  }
  const answer = await guardedGet(location, signal, options)
  if (!answer.ok) return answer
  const result = parseKeySet(answer.text)
  if (!result.ok) {
    const url = readUrl(location)
    const place = typeof url === "string" ? "the answer" : shownUrl(url)
    return { ok: false, error: `${place} is not a key set: ${result.error.message}` }
  }
  return { ok: true, jwks: answer.text, keySet: result.keySet, lifetime: cacheLifetime(answer.cacheControl) }
}
