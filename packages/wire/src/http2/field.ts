// SPDX-License-Identifier: Apache-2.0
// One field of an HTTP/2 message with its classification, computed once: most fields are repeated by table index and
// then cost nothing.

import { FIELD_KIND, type FieldKind, fieldName } from "./field-kind.js"

/** RFC 9113 section 8.2.1: a token in lower case. Names of pseudo-headers are checked where they are used. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** RFC 9110 section 5.5, and RFC 9113 section 8.2.1: no white space at either end. */
const VALUE = /^(?![\t ])[\t\x20-\x7e\x80-\xff]*(?<![\t ])$/

const COLON = 0x3a

export class Field {
  readonly name: string
  readonly value: string
  /** `plain` for pseudo-headers. */
  readonly kind: FieldKind
  readonly pseudo: boolean
  /** The sender marked the field as never-indexed (RFC 7541 section 7.1.3). */
  readonly sensitive: boolean
  readonly error: "bad-header-name" | "bad-header-value" | undefined

  constructor(name: string, value: string, sensitive: boolean) {
    this.name = name
    this.value = value
    this.sensitive = sensitive
    this.pseudo = name.charCodeAt(0) === COLON
    const known = this.pseudo ? undefined : fieldName(name)
    this.kind = known?.kind ?? FIELD_KIND.plain
    // INVARIANT: a cached name is a token, but `lower` differs from a name with capitals, so the name itself is tested.
    if (!NAME.test(name)) this.error = "bad-header-name"
    else this.error = VALUE.test(value) ? undefined : "bad-header-value"
  }
}
