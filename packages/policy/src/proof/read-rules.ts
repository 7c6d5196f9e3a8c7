// SPDX-License-Identifier: Apache-2.0
// Caches the converted rules of one space, so that each rule is converted once for all frames in which it is the same.

import type { CompiledRule, RuleRef } from "../authorization/rule.js"
import type { Region } from "./search/formula.js"

/** A rule's region, with the position of the rule. */
export interface RuleRegion extends Region {
  readonly rule: CompiledRule
  readonly ref: RuleRef
}

export const isRuleRegion = (region: Region): region is RuleRegion => "rule" in region

/** What a rule reads of a request, as far as frames differ in it. */
export interface LooksAt {
  readonly token: boolean
  readonly peer: boolean
  readonly principal: boolean
  /** Headers, or claims that token rules read differently. */
  readonly view: boolean
}

/** By the numbers that `readingOf` returns. */
export interface ReadRule {
  looks: LooksAt | undefined
  readonly read: (RuleRegion | "nowhere" | undefined)[]
}

export class ReadRules {
  // Not a WeakMap: the entries live as long as the space, and weak tables are slow to collect.
  readonly #ofRule = new Map<CompiledRule, ReadRule>()
  readonly #ofList = new Map<readonly CompiledRule[], (readonly RuleRegion[] | undefined)[]>()
  readonly #byKey = new Map<string, Map<number, Region | undefined>>()
  readonly #numbers = new Map<string, number>()

  of(rule: CompiledRule): ReadRule {
    let known = this.#ofRule.get(rule)
    if (known === undefined) {
      known = { looks: undefined, read: [] }
      this.#ofRule.set(rule, known)
    }
    return known
  }

  ofList(rules: readonly CompiledRule[]): (readonly RuleRegion[] | undefined)[] {
    let known = this.#ofList.get(rules)
    if (known === undefined) {
      known = []
      this.#ofList.set(rules, known)
    }
    return known
  }

  /** One region for all rules with the same content. */
  shared(key: string, reading: number, read: () => Region | undefined): Region | undefined {
    let known = this.#byKey.get(key)
    if (known === undefined) {
      known = new Map()
      this.#byKey.set(key, known)
    }
    if (!known.has(reading)) known.set(reading, read())
    return known.get(reading)
  }

  /** The number of a text, counted from 0. */
  numberOf(text: string): number {
    let number = this.#numbers.get(text)
    if (number === undefined) {
      number = this.#numbers.size
      this.#numbers.set(text, number)
    }
    return number
  }
}
