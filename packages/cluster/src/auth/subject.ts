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
/** Controls, and marks that change how a name is shown and not what it is. */
const DECEIVING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/u

/** Whether a name prints as something that it is not. */
export function isDeceiving(name: string): boolean {
  return DECEIVING.test(name)
}

/** undefined for whatever is not exactly one name, and groups, that print as what they are. */
export function readSubject(der: Buffer): Subject | undefined {
  const names = new Map<string, string[]>([
    [COMMON_NAME, []],
    [ORGANIZATION, []],
  ])
  try {
    // The library's own names for fields and its printed forms are not used: only types and typed strings.
    const { asn } = new x509.X509Certificate(der).subjectName as unknown as { asn: Iterable<Iterable<Attribute>> }
    for (const relative of asn)
      for (const { type, value } of relative) {
        const own = names.get(type)
        if (own === undefined) continue
        const text = value.utf8String ?? value.printableString ?? value.ia5String
        // Fail closed: other encodings can say the same in several ways.
        if (text === undefined || text === "" || isDeceiving(text)) return undefined
        own.push(text)
      }
  } catch {
    // The library cannot read this certificate. OpenSSL may have, but no user is named.
    return undefined
  }
  const [name, second] = names.get(COMMON_NAME) ?? []
  // Fail closed: of two names it would matter who reads first or last.
  if (name === undefined || second !== undefined) return undefined
  return { name, groups: names.get(ORGANIZATION) ?? [] }
}

/** The parts of the library's parsed attribute that are read here. */
interface Attribute {
  readonly type: string
  readonly value: { readonly utf8String?: string; readonly printableString?: string; readonly ia5String?: string }
}
