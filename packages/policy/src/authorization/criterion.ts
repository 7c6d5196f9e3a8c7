// SPDX-License-Identifier: Apache-2.0
// One field of a rule: the attribute must match one of the values, or with a `not` field, none of them. An attribute
// the request does not have matches nothing, so a positive field fails and a negative one holds.

import type { Attributes } from "../request/attributes.js"
import type { Attribute, AttributeIndex } from "./attribute.js"
import type { Extent } from "./extent.js"

const found = (): boolean => true

export class Criterion {
  readonly #values: AttributeIndex<true>
  #extents: readonly Extent[] | undefined

  constructor(
    /** Its path in the rule, such as `from[0].source.principals`. */
    readonly field: string,
    readonly attribute: Attribute,
    readonly negated: boolean,
    /** The compiled values: trust domains expanded, bare service accounts qualified. */
    readonly values: readonly string[],
  ) {
    this.#values = attribute.index()
    for (const value of values) this.#values.entry(value, () => true)
  }

  /** The set of values that each value matches; computed on first use, because only an analysis needs it. */
  get extents(): readonly Extent[] {
    this.#extents ??= this.values.map(value => this.attribute.extent(value))
    return this.#extents
  }

  holds(attributes: Attributes): boolean {
    return this.#values.some(attributes, found) !== this.negated
  }
}

/** Criteria that must all hold. An empty clause always holds. */
export type Clause = readonly Criterion[]

export function clauseHolds(clause: Clause, attributes: Attributes): boolean {
  for (const criterion of clause) if (!criterion.holds(attributes)) return false
  return true
}
