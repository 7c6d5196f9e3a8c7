// SPDX-License-Identifier: Apache-2.0
// One field of an HTTP/2 message with its classification, computed once: most fields repeat by their index in a table and
// then cost nothing more.

import { FIELD_KIND, type FieldKind, fieldName } from "./field-kind.js"

/** RFC 9113 section 8.2.1: a token in lower case; what a pseudo-header is called is looked at where it is used. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** RFC 9110 section 5.5, and RFC 9113 section 8.2.1: no white space at either end. */
const VALUE = /^(?![\t ])[\t\x20-\x7e\x80-\xff]*(?<![\t ])$/

const COLON = 0x3a

export class Field {
  readonly name: string
  readonly value: string
  /** Of those without a colon before their name. */
  readonly kind: FieldKind
  readonly pseudo: boolean
  /** Its sender wants it in no table (RFC 7541 section 7.1.3). */
  readonly sensitive: boolean
  readonly error: "bad-header-name" | "bad-header-value" | undefined

  constructor(name: string, value: string, sensitive: boolean) {
    this.name = name
    this.value = value
    this.sensitive = sensitive
    this.pseudo = name.charCodeAt(0) === COLON
    const known = this.pseudo ? undefined : fieldName(name)
    this.kind = known?.kind ?? FIELD_KIND.plain
    // INVARIANT: with capitals `lower` is another text; a name that is remembered is a token.
    if (!NAME.test(name)) this.error = "bad-header-name"
    else this.error = VALUE.test(value) ? undefined : "bad-header-value"
  }
}
