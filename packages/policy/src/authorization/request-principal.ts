// SPDX-License-Identifier: Apache-2.0
// Parses an entry `<iss>/<sub>`. Issuers are URLs and subjects may be, so the text alone does not show which slash
// separates them: it is the one after the longest issuer that the workload's RequestAuthentications name. If two issuers
// match, only the longest counts, so that a subject with a slash never impersonates one of another issuer.

import { type Pattern, parsePattern } from "./pattern.js"
import { patternCovers, patternsApart } from "./pattern-covers.js"

/** The issuers that the RequestAuthentications of a workload name. */
export type Issuers = ReadonlySet<string>

export interface PrincipalPattern {
  readonly issuer: Pattern
  readonly subject: Pattern
}

const present: Pattern = { kind: "present" }
const exact = (text: string): Pattern => ({ kind: "exact", text })

export function readPrincipal(value: string, issuers: Issuers): PrincipalPattern {
  if (hasWildcard(value)) return readWildcard(value)
  const slash = issuerEnd(value, issuers)
  return slash < 0 ? { issuer: exact(value), subject: exact("") } : splitAt(value, slash)
}

/** A star is a wildcard at the start of an entry or, if there is none, at its end. */
function hasWildcard(value: string): boolean {
  return value.startsWith("*") || value.endsWith("*")
}

/** The end of the issuer in an entry without wildcard; -1 if the entry has no slash. */
function issuerEnd(value: string, issuers: Issuers): number {
  const last = value.lastIndexOf("/")
  for (let at = last; at >= 0; at = at === 0 ? -1 : value.lastIndexOf("/", at - 1)) {
    if (issuers.has(value.slice(0, at))) return at
  }
  return last
}

const splitAt = (value: string, slash: number): PrincipalPattern => ({
  issuer: exact(value.slice(0, slash)),
  subject: exact(value.slice(slash + 1)),
})

/**
 * In an entry with a wildcard, the last slash separates issuer and subject, because a pattern can match several
 * issuers.
 */
function readWildcard(value: string): PrincipalPattern {
  if (value === "*") return { issuer: present, subject: present }
  const slash = value.lastIndexOf("/")
  if (slash < 0) {
    return value.startsWith("*")
      ? { issuer: present, subject: parsePattern(value, "wildcard") }
      : { issuer: parsePattern(value, "wildcard"), subject: present }
  }
  const issuer = value.slice(0, slash)
  const subject = value.slice(slash + 1)
  // After a leading star the subject is literal, even `*`, as in the other systems whose policies we read.
  if (value.startsWith("*")) return { issuer: parsePattern(issuer, "wildcard"), subject: exact(subject) }
  return { issuer: exact(issuer), subject: subject === "*" ? present : { kind: "prefix", text: subject.slice(0, -1) } }
}

/** Whether `wide` matches all that `narrow` matches for any set of issuers: an analysis may not know the workload. */
export function principalCovers(wide: string, narrow: string): boolean {
  if (!hasWildcard(wide)) return !hasWildcard(narrow) && joined(wide) === joined(narrow)
  const outer = readWildcard(wide)
  return possibleReadings(narrow).every(
    inner => patternCovers(outer.issuer, inner.issuer) && patternCovers(outer.subject, inner.subject),
  )
}

/** Whether no token can match both, for any set of issuers. */
export function principalsApart(a: string, b: string): boolean {
  if (!hasWildcard(a) && !hasWildcard(b)) return joined(a) !== joined(b)
  return possibleReadings(a).every(one =>
    possibleReadings(b).every(
      other => patternsApart(one.issuer, other.issuer) || patternsApart(one.subject, other.subject),
    ),
  )
}

/** An entry without wildcard is one pair of issuer and subject; the subject may be empty. */
const joined = (value: string): string => (value.includes("/") ? value : `${value}/`)

function possibleReadings(value: string): readonly PrincipalPattern[] {
  if (hasWildcard(value)) return [readWildcard(value)]
  const readings: PrincipalPattern[] = []
  for (let at = value.indexOf("/"); at >= 0; at = value.indexOf("/", at + 1)) readings.push(splitAt(value, at))
  return readings.length === 0 ? [{ issuer: exact(value), subject: exact("") }] : readings
}
