// SPDX-License-Identifier: Apache-2.0
// The user and groups of a client certificate: CN is the user, every O a group. Parsed from the certificate's bytes,
// never from the printed subject, where a comma or line break in one name could look like another. A malformed subject
// names no user.

import "reflect-metadata"
import * as x509 from "@peculiar/x509"

export interface Subject {
  readonly name: string
  readonly groups: readonly string[]
}

/** RFC 5280, appendix A.1. */
const COMMON_NAME = "2.5.4.3"
const ORGANIZATION = "2.5.4.10"
/** Control characters, and characters that change how a name is displayed but not what it is. */
const DECEIVING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/u

/** Whether a name is displayed as something else. */
export function isDeceiving(name: string): boolean {
  return DECEIVING.test(name)
}

/** Returns undefined unless there is exactly one user name and no name is deceiving. */
export function readSubject(der: Buffer): Subject | undefined {
  const names = new Map<string, string[]>([
    [COMMON_NAME, []],
    [ORGANIZATION, []],
  ])
  try {
    // Only types and typed strings are used, not the library's field names and printed forms.
    const { asn } = new x509.X509Certificate(der).subjectName as unknown as { asn: Iterable<Iterable<Attribute>> }
    for (const relative of asn)
      for (const { type, value } of relative) {
        const own = names.get(type)
        if (own === undefined) continue
        const text = value.utf8String ?? value.printableString ?? value.ia5String
        // Fail closed: other encodings can represent the same name in several ways.
        if (text === undefined || text === "" || isDeceiving(text)) return undefined
        own.push(text)
      }
  } catch {
    // The library cannot read this certificate. OpenSSL may have accepted it, but it names no user.
    return undefined
  }
  const [name, second] = names.get(COMMON_NAME) ?? []
  // Fail closed: with two names, readers could disagree on which one counts.
  if (name === undefined || second !== undefined) return undefined
  return { name, groups: names.get(ORGANIZATION) ?? [] }
}

/** The fields of the library's parsed attribute that are used here. */
interface Attribute {
  readonly type: string
  readonly value: { readonly utf8String?: string; readonly printableString?: string; readonly ia5String?: string }
}
