// SPDX-License-Identifier: Apache-2.0
// Explains why a token was rejected: its values next to what the rules require.

import { shown } from "../resources/document-error.js"
import { CLOCK_SKEW_SECONDS } from "../tokens/conditions.js"
import type { TokenProgram } from "../tokens/program.js"
import type { TokenRule } from "../tokens/rule.js"
import { parseToken, type Token } from "../tokens/token.js"
import { type TokenError, tokenErrorText } from "../tokens/token-errors.js"

/** `text`: the token, if it is known. `now` in seconds since the epoch. */
export function tokenHelp(
  error: TokenError,
  text: string | undefined,
  { rules, dialect }: TokenProgram,
  now: number,
): readonly string[] {
  const read = text === undefined ? undefined : parseToken(text, dialect)
  const token = typeof read === "string" ? undefined : read
  const own = token === undefined ? [] : rules.filter(({ issuer }) => issuer === undefined || issuer === token.issuer)
  return [`${tokenErrorText(error)}.`, ...adviceFor(error, token, own, rules, now)]
}

function adviceFor(
  error: TokenError,
  token: Token | undefined,
  own: readonly TokenRule[],
  all: readonly TokenRule[],
  now: number,
): readonly string[] {
  switch (error) {
    case "JwtMissing":
      return ["A rule requires a token; send one where it looks, usually `Authorization: Bearer TOKEN`."]
    case "JwtBadFormat":
      return [
        "A signed token has three parts with a dot between them. Was it cut, or is it another kind of credential?",
      ]
    case "JwtUnknownIssuer":
      return [`The token is of ${named(token?.issuer)}; rules name ${list(all.map(({ issuer }) => issuer))}.`]
    case "JwtExpired":
      return [`It expired at ${date(token?.expiresAt)}, ${since(token?.expiresAt, now)}; get a new one.`]
    case "JwtNotYetValid":
      return [
        `It is valid from ${date(token?.notBefore ?? token?.issuedAt)} on (with ${CLOCK_SKEW_SECONDS} s of clock skew allowed): is a clock wrong?`,
      ]
    case "JwtAudienceNotAllowed":
      return [
        `Its audiences are ${list(token?.audiences ?? [])}; accepted are ${list(own.flatMap(({ audiences }) => [...(audiences ?? [])]))}.`,
      ]
    case "JwksKidAlgMismatch":
    case "JwtVerificationFail":
      return [
        `It names the key ${named(token?.kid)} and ${named(token?.algorithm.name)}; the rules have ${list(keyNames(own))}. Has the issuer rotated its keys, or is the token another's?`,
      ]
    case "JwksFetchFail":
      return ["The issuer's keys are not available; while a proxy has none, it denies every token of the rule."]
    case "JwtExpRequired":
      return ["The rule has `requireExpiration`; ask the issuer for tokens that expire."]
    case "JwtHeaderCritNotSupported":
      return [
        "Its header says that an extension must be understood, and none is; ask the issuer for tokens without `crit`.",
      ]
    default:
      return ["The token itself is malformed; look at it with `merlonctl jwt inspect`."]
  }
}

function keyNames(rules: readonly TokenRule[]): readonly string[] {
  return rules.flatMap(({ keys }) =>
    typeof keys === "string"
      ? []
      : keys.keys.map(({ kid, kty }) => `${kid === "" ? "a key without id" : kid} (${kty})`),
  )
}

const named = (text: string | undefined): string => (text === undefined || text === "" ? "none" : `\`${shown(text)}\``)

function list(texts: readonly (string | undefined)[]): string {
  const some = [...new Set(texts)].slice(0, 5).map(text => (text === undefined ? "any" : `\`${shown(text)}\``))
  return some.length === 0 ? "none" : some.join(", ")
}

/** A time beyond the range of dates is shown as its number. */
function date(seconds: number | undefined): string {
  if (seconds === undefined) return "an unknown time"
  const time = new Date(seconds * 1000)
  return Number.isNaN(time.getTime()) ? String(seconds) : time.toISOString()
}

function since(seconds: number | undefined, now: number): string {
  const minutes = Math.round((now - (seconds ?? now)) / 60)
  return minutes < 120 ? `${minutes} minutes ago` : `${Math.round(minutes / 60)} hours ago`
}
