// SPDX-License-Identifier: Apache-2.0
// Authorization by one pool of policies. AUDIT only marks; any DENY match denies. If the pool has an ALLOW policy, only
// requests that an ALLOW rule matches are allowed. If a CUSTOM rule also matches, the result depends on its provider.
// Rules are sorted by id, so the reported rule is the first by id, whatever the order in which policies arrived.

import type { Attributes } from "../request/attributes.js"
import { compareText } from "../selection/workload.js"
import type { AuthorizationStage, Verdict } from "./decision.js"
import { FirstMatch } from "./first-match.js"
import { type NearMiss, nearestMiss } from "./nearest.js"
import type { CompiledRule, PolicyRef, RuleRef } from "./rule.js"

export type Action = "ALLOW" | "DENY" | "AUDIT" | "CUSTOM"

export interface CompiledPolicy {
  readonly ref: PolicyRef
  readonly action: Action
  /** Evaluated and reported, but not enforced. */
  readonly shadow: boolean
  readonly rules: readonly CompiledRule[]
}

/**
 * The number of rules checked for the nearest one. A denied peer controls how often this happens, so the work is
 * bounded.
 */
const NEAREST_LIMIT = 128

export class Engine {
  readonly #audit: FirstMatch<CompiledRule> | undefined
  readonly #deny: FirstMatch<CompiledRule> | undefined
  readonly #allow: FirstMatch<CompiledRule> | undefined
  readonly #allowRules: readonly CompiledRule[]
  readonly #firstAllowPolicy: PolicyRef | undefined
  /** One entry for each provider. */
  readonly #custom: readonly FirstMatch<CompiledRule>[]

  constructor(policies: readonly CompiledPolicy[], indexed = true) {
    this.#audit = firstMatch(rulesOf(policies, "AUDIT"), indexed)
    this.#deny = firstMatch(rulesOf(policies, "DENY"), indexed)
    this.#allowRules = rulesOf(policies, "ALLOW")
    const custom = rulesOf(policies, "CUSTOM")
    const providers = [...new Set(custom.map(({ ref }) => ref.provider))]
    const rulesAsking = (asked: string | undefined) => custom.filter(({ ref }) => ref.provider === asked)
    this.#custom = providers.map(asked => new FirstMatch(rulesAsking(asked), indexed))
    this.#firstAllowPolicy = policies.find(({ action }) => action === "ALLOW")?.ref
    // An ALLOW policy without rules allows nothing: it counts although no request matches it.
    if (this.#firstAllowPolicy !== undefined) this.#allow = new FirstMatch(this.#allowRules, indexed)
  }

  audit(attributes: Attributes): RuleRef | undefined {
    return this.#audit?.find(attributes)?.ref
  }

  /** `allowedBy`: providers that have allowed this request. */
  verdict(attributes: Attributes, allowedBy: ReadonlySet<string> = NOBODY): Verdict {
    const denied = this.#deny?.find(attributes)
    if (denied !== undefined) return settled("deny", "deny", denied.ref)
    const allowed = this.#allow?.find(attributes)
    if (this.#allow === undefined || allowed !== undefined) {
      const passed = allowed === undefined ? DEFAULT : settled("allow", "allow", allowed.ref)
      return this.#custom.length === 0 ? passed : unlessDenied(passed, this.asked(attributes, allowedBy))
    }
    return { verdict: "deny", stage: "allow", policy: this.#firstAllowPolicy, rule: undefined }
  }

  /**
   * For each provider that has not allowed the request, the first CUSTOM rule that matches, regardless of other rules.
   */
  asked(attributes: Attributes, allowedBy: ReadonlySet<string> = NOBODY): readonly RuleRef[] {
    const matched = this.#custom.flatMap(rules => rules.find(attributes)?.ref ?? [])
    return allowedBy.size === 0 ? matched : matched.filter(({ provider = "" }) => !allowedBy.has(provider))
  }

  /**
   * The ALLOW rule nearest to a request that none matched: rules that share a value with it come first, then rule
   * order.
   */
  nearest(attributes: Attributes): NearMiss | undefined {
    if (this.#allowRules.length <= NEAREST_LIMIT) return nearestMiss(this.#allowRules, attributes)
    const related = this.#allow?.reachable(attributes, NEAREST_LIMIT) ?? []
    const others = this.#allowRules.slice(0, NEAREST_LIMIT - related.length)
    return nearestMiss(new Set([...related, ...others]), attributes)
  }
}

const NOBODY: ReadonlySet<string> = new Set()

const DEFAULT: Verdict = { verdict: "allow", stage: "default", policy: undefined, rule: undefined }

/** Fail closed: what a provider may deny is not allowed. */
export function unlessDenied(passed: Verdict, asked: readonly RuleRef[]): Verdict {
  const [first] = asked
  return first === undefined ? passed : { ...settled("deny", "custom", first), asked }
}

function settled(verdict: Verdict["verdict"], stage: AuthorizationStage, rule: RuleRef): Verdict {
  return { verdict, stage, policy: rule.policy, rule }
}

function firstMatch(rules: readonly CompiledRule[], indexed: boolean): FirstMatch<CompiledRule> | undefined {
  return rules.length === 0 ? undefined : new FirstMatch(rules, indexed)
}

function rulesOf(policies: readonly CompiledPolicy[], action: Action): readonly CompiledRule[] {
  const rules = policies.filter(policy => policy.action === action).flatMap(policy => policy.rules)
  return rules.sort((a, b) => compareText(a.ref.id, b.ref.id))
}
