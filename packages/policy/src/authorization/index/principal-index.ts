// SPDX-License-Identifier: Apache-2.0
// Request principals `<iss>/<sub>`. Issuer and subject are compared apart, never as one joined text: a subject with a
// slash must not be able to pass for another issuer's.

import { type Pattern, parsePattern } from "../pattern.js"
import { PatternIndex } from "./pattern-index.js"

interface PrincipalPattern {
  readonly issuer: Pattern
  readonly subject: Pattern
}

const present: Pattern = { kind: "present" }
const exact = (text: string): Pattern => ({ kind: "exact", text })

/** The grammar splits at the last slash; a leading star belongs to the issuer, a trailing one to the subject. */
export function parsePrincipal(value: string): PrincipalPattern {
  if (value === "*") return { issuer: present, subject: present }
  const slash = value.lastIndexOf("/")
  if (slash < 0) {
    if (value.startsWith("*")) return { issuer: present, subject: parsePattern(value, "wildcard") }
    if (value.endsWith("*")) return { issuer: parsePattern(value, "wildcard"), subject: present }
    return { issuer: exact(value), subject: exact("") }
  }
  const issuer = value.slice(0, slash)
  const subject = value.slice(slash + 1)
  // With a star in front the subject is literal, even `*`: the systems whose policies we read do it so.
  if (value.startsWith("*")) return { issuer: parsePattern(issuer, "wildcard"), subject: exact(subject) }
  return { issuer: exact(issuer), subject: subject.endsWith("*") ? trailing(subject) : exact(subject) }
}

const trailing = (subject: string): Pattern =>
  subject === "*" ? present : { kind: "prefix", text: subject.slice(0, -1) }

export class PrincipalIndex<V> {
  readonly #issuers = new PatternIndex<PatternIndex<V>>(false)

  entry(value: string, create: () => V): V {
    const { issuer, subject } = parsePrincipal(value)
    return this.#issuers.file(issuer, () => new PatternIndex<V>(false)).file(subject, create)
  }

  some(issuer: string, subject: string, visit: (value: V) => boolean): boolean {
    return this.#issuers.match(issuer, subjects => subjects.match(subject, visit))
  }
}
