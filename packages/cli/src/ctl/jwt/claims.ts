// SPDX-License-Identifier: Apache-2.0
// Builds a token's claims from flags. The clock is an argument.

import { durationMilliseconds } from "@merlon/policy/shape"
import { usageError } from "../exit.js"

export interface ClaimFlags {
  readonly iss?: string
  readonly sub?: string
  readonly aud: readonly string[]
  readonly jti?: string
  readonly exp: string
  readonly nbf?: string
  readonly claim: readonly string[]
  readonly claims?: string
}

export type Claims = { readonly [name: string]: unknown }

/** `now` in seconds. A claim's own flag overrides `--claim`, which overrides `--claims`. */
export function claimsOf(flags: ClaimFlags, now: number): Claims {
  const { iss, sub, aud, jti, exp, nbf } = flags
  const expiry = exp === "never" ? undefined : timeOf(exp, now, "--exp")
  return {
    iat: now,
    ...whole(flags.claims),
    ...Object.fromEntries(flags.claim.map(pair)),
    ...(iss === undefined ? {} : { iss }),
    ...(sub === undefined ? {} : { sub }),
    ...(aud.length === 0 ? {} : { aud: aud.length === 1 ? aud[0] : aud }),
    ...(jti === undefined ? {} : { jti }),
    ...(nbf === undefined ? {} : { nbf: timeOf(nbf, now, "--nbf") }),
    ...(expiry === undefined ? {} : { exp: expiry }),
  }
}

/** Parses a duration from now, a date, or seconds since the epoch. */
export function timeOf(text: string, now: number, flag: string): number {
  if (/^\d{9,11}$/.test(text)) return Number(text)
  const milliseconds = durationMilliseconds(text)
  if (milliseconds !== undefined) return Math.floor(now + milliseconds / 1000)
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(date)) {
    throw usageError(
      `${flag}: \`${text}\` is no time; write a length as \`1h\` or \`-5m\`, or a date as \`2030-01-01T00:00:00Z\``,
    )
  }
  return Math.floor(date / 1000)
}

/** The value is JSON if it parses, else text: `groups=["a"]`, `level=3`, `name=Ann`, `code="007"`. */
function pair(text: string): readonly [string, unknown] {
  const at = text.indexOf("=")
  if (at < 1) throw usageError(`--claim: \`${text}\` does not have the form NAME=VALUE`)
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), JSON.parse(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}

function whole(text: string | undefined): Claims {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Reported below.
  }
  throw usageError(`--claims: must be a JSON object, as '{"groups":["admin"]}'`)
}
