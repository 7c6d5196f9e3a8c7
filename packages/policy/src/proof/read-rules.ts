// SPDX-License-Identifier: Apache-2.0
// Rules as they were read in one space, so that each is read once for all frames that see it alike.

import type { CompiledRule, RuleRef } from "../authorization/rule.js"
import type { Region } from "./search/formula.js"

/** A rule with where it stands. */
export interface RuleRegion extends Region {
  readonly rule: CompiledRule
  readonly ref: RuleRef
}

export const isRuleRegion = (region: Region): region is RuleRegion => "rule" in region

export class ReadRules {
  readonly ofRule = new WeakMap<CompiledRule, Map<string, RuleRegion | "nowhere">>()
  readonly #byKey = new Map<string, Map<string, Region | undefined>>()

  /** One region for all rules that say the same. */
  shared(key: string, reading: string, read: () => Region | undefined): Region | undefined {
    let known = this.#byKey.get(key)
    if (known === undefined) {
      known = new Map()
      this.#byKey.set(key, known)
    }
    if (!known.has(reading)) known.set(reading, read())
    return known.get(reading)
  }
}
