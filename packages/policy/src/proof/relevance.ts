// SPDX-License-Identifier: Apache-2.0
// Drops, before anything is compiled, the rules that cannot matter for a comparison. If modes and token rules are equal,
// two sets can only differ on a request that a changed rule matches, so a rule that never matches together with a changed
// one is irrelevant. It looks at rules as written; in doubt a rule is kept.

import { EVERY_RULE, type RuleChoice } from "../authorization/authorization.js"
import { type Pattern, type PatternSyntax, parsePattern } from "../authorization/pattern.js"
import { patternsApart } from "../authorization/pattern-covers.js"
import { ruleJson } from "../authorization/rule-json.js"
import { expandPrincipal } from "../authorization/trust-domains.js"
import type { MeshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../resources/document.js"
import type { Budget } from "./budget.js"
import type { Witness } from "./witness.js"

// With more changes hardly any rule is left out, and the check costs more than it saves.
const MAX_CHANGED = 64

interface Written {
  readonly policy: AuthorizationPolicy
  readonly rule: Rule
}

/** Undefined if both sets have the same rules. */
export function relevantRules(
  before: readonly AuthorizationPolicy[],
  after: readonly AuthorizationPolicy[],
  mesh: MeshConfig,
  budget: Budget,
): RuleChoice | undefined {
  const changed = changedRules(before, after, budget)
  if (changed.length === 0) return undefined
  if (changed.length > MAX_CHANGED) return EVERY_RULE
  const reach = new Reach(mesh, attribute => union(changed.map(({ rule }) => attribute.read(rule, mesh))))
  // On a TCP connection a DENY rule ignores its HTTP conditions, so only the caller can make it irrelevant.
  const onTcp = changed.some(({ rule, policy }) => isDeny(policy) || !asksForHttp(rule))
  return remembered((rule, policy) => reach.meets(rule, onTcp && isDeny(policy) ? "connection" : "request"))
}

/** Each rule is checked for both sets, and again for every request that is found. */
function remembered(choice: RuleChoice): RuleChoice {
  const known = { deny: new Map<Rule, boolean>(), others: new Map<Rule, boolean>() }
  return (rule, policy) => {
    const of = isDeny(policy) ? known.deny : known.others
    let chosen = of.get(rule)
    if (chosen === undefined) {
      chosen = choice(rule, policy)
      of.set(rule, chosen)
    }
    return chosen
  }
}

/** Rules that a request like the witness can match at all. */
export function rulesMeeting(witness: Witness, mesh: MeshConfig): RuleChoice {
  const values: Readonly<Record<string, string | undefined>> = {
    principals: witness.principal,
    ports: String(witness.port),
    ...(witness.protocol === "http" ? { paths: witness.path, methods: witness.method } : {}),
  }
  const reach = new Reach(mesh, ({ field }) => {
    const value = values[field]
    return value === undefined ? undefined : [{ kind: "exact", text: value }]
  })
  return rule => reach.meets(rule, "request")
}

class Reach {
  readonly #mesh: MeshConfig
  readonly #limits: readonly { readonly attribute: WrittenAttribute; readonly patterns: readonly Pattern[] }[]

  /** `patternsOf`: the patterns that the attribute is known to match, or undefined if it may have any value. */
  constructor(mesh: MeshConfig, patternsOf: (attribute: WrittenAttribute) => readonly Pattern[] | undefined) {
    this.#mesh = mesh
    this.#limits = ATTRIBUTES.flatMap(attribute => {
      const patterns = patternsOf(attribute)
      return patterns === undefined ? [] : [{ attribute, patterns }]
    })
  }

  meets(rule: Rule, as: "request" | "connection"): boolean {
    return this.#limits.every(({ attribute, patterns }) => {
      if (as === "connection" && attribute.ofHttp) return true
      const own = attribute.read(rule, this.#mesh)
      return own === undefined || own.some(one => patterns.some(other => !patternsApart(one, other)))
    })
  }
}

/** A single-valued field by which most rules exclude each other. */
class WrittenAttribute {
  readonly #known = new WeakMap<Rule, readonly Pattern[] | typeof ANYTHING>()

  constructor(
    readonly field: "principals" | "ports" | "methods" | "paths",
    readonly ofHttp: boolean,
    readonly syntax: PatternSyntax,
  ) {}

  /** Patterns of which every matching request matches at least one; undefined if the rule requires none. */
  read(rule: Rule, mesh: MeshConfig): readonly Pattern[] | undefined {
    // The meaning of principals depends on the mesh's trust domains, unlike that of the other fields.
    if (this.field === "principals") return this.#patterns(rule, [mesh.trustDomain, ...mesh.trustDomainAliases])
    let known = this.#known.get(rule)
    if (known === undefined) {
      known = this.#patterns(rule, []) ?? ANYTHING
      this.#known.set(rule, known)
    }
    return known === ANYTHING ? undefined : known
  }

  #patterns(rule: Rule, domains: readonly string[]): readonly Pattern[] | undefined {
    const lists = this.#lists(rule)
    if (lists.length === 0 || lists.some(list => list === undefined || list.length === 0)) return undefined
    const values = lists.flatMap(list => list ?? [])
    const meant = {
      principals: () => values.flatMap(value => expandPrincipal(value, domains)),
      ports: () => values.map(value => String(Number(value))),
      methods: () => values,
      paths: () => values,
    }[this.field]()
    return meant.map(value => parsePattern(value, this.syntax))
  }

  #lists({ from = [], to = [] }: Rule): readonly (readonly string[] | undefined)[] {
    const { field } = this
    if (field === "principals") return from.map(({ source }) => source?.principals)
    return to.map(({ operation }) => operation?.[field])
  }
}

const ANYTHING = Symbol("anything")

const ATTRIBUTES: readonly WrittenAttribute[] = [
  new WrittenAttribute("paths", true, "path"),
  new WrittenAttribute("principals", false, "wildcard"),
  new WrittenAttribute("methods", true, "wildcard"),
  new WrittenAttribute("ports", false, "literal"),
]

function union(lists: readonly (readonly Pattern[] | undefined)[]): readonly Pattern[] | undefined {
  return lists.some(list => list === undefined) ? undefined : lists.flatMap(list => list ?? [])
}

/** A CUSTOM rule matches as a DENY rule does. */
const isDeny = ({ spec }: AuthorizationPolicy): boolean => spec.action === "DENY" || spec.action === "CUSTOM"

/** An ALLOW rule with HTTP conditions matches no TCP connection. */
function asksForHttp({ to = [] }: Rule): boolean {
  return to.some(({ operation: { paths = [], methods = [] } = {} }) => paths.length + methods.length > 0)
}

/** The rules that only one side has; AUDIT rules change no verdict. */
function changedRules(
  before: readonly AuthorizationPolicy[],
  after: readonly AuthorizationPolicy[],
  budget: Budget,
): readonly Written[] {
  const [old, young] = [byKey(before, budget), byKey(after, budget)]
  const only = (some: ReadonlyMap<string, Written>, others: ReadonlyMap<string, Written>): readonly Written[] =>
    [...some].flatMap(([key, written]) => (others.has(key) ? [] : [written]))
  return [...only(old, young), ...only(young, old)]
}

/** INVARIANT: rules with equal keys match the same requests of one workload, with the same effect. */
function byKey(policies: readonly AuthorizationPolicy[], budget: Budget): ReadonlyMap<string, Written> {
  const found = new Map<string, Written>()
  for (const policy of policies) {
    const { action = "ALLOW", provider, rules = [] } = policy.spec
    if (action === "AUDIT") continue
    const end = provider === undefined ? action : JSON.stringify([action, provider.name])
    for (const rule of rules) {
      budget.look()
      found.set(`${end} ${policy.metadata.namespace} ${ruleJson(rule)}`, { policy, rule })
    }
  }
  return found
}
