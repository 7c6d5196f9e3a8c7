// SPDX-License-Identifier: Apache-2.0
// The AuthorizationPolicies of one workload, compiled: once for HTTP requests and once for TCP connections, each with
// the enforced pool and, where Shadow policies apply, the pool that would be enforced if they were.

import type { MeshConfig } from "../mesh/config.js"
import type { Attributes } from "../request/attributes.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import { type AttributeTable, attributeTable } from "./attributes.js"
import type { Decision, Verdict } from "./decision.js"
import { type Action, type CompiledPolicy, Engine } from "./engine.js"
import type { NearMiss } from "./nearest.js"
import type { Issuers } from "./request-principal.js"
import { type CompiledRule, compileRule, type PolicyRef, type RuleRef } from "./rule.js"
import { ruleJson } from "./rule-json.js"

class Pool {
  #engine: Engine | undefined

  constructor(
    readonly policies: readonly CompiledPolicy[],
    readonly indexed: boolean,
  ) {}

  get engine(): Engine {
    this.#engine ??= new Engine(this.policies, this.indexed)
    return this.#engine
  }
}

interface Pools {
  readonly enforced: Pool
  /** The pool as if every shadow policy were enforced; undefined if there are none. */
  readonly promoted: Pool | undefined
}

/** The issuers that the workload's RequestAuthentications name: the enforced ones, and all of them. */
export interface NamedIssuers {
  readonly enforced: Issuers
  readonly promoted: Issuers
}

/** Selects the rules to compile: an analysis needs only those that can matter to it. Positions do not change. */
export type RuleChoice = (rule: Rule, policy: AuthorizationPolicy) => boolean

export const EVERY_RULE: RuleChoice = () => true

/** Rules that were compiled before, by position and content: two sets of policies usually have most rules in common. */
export class KnownRules {
  readonly #compiled = new Map<string, CompiledRule>()

  /**
   * INVARIANT: while this is in use, `compile` depends only on the policy's name, the position, the rule and the
   * provider.
   */
  compiled(
    policy: PolicyRef,
    index: number,
    rule: Rule,
    provider: string | undefined,
    compile: () => CompiledRule,
  ): CompiledRule {
    const key = `${policy.namespace}/${policy.name}[${index}]${ruleJson(rule)}${provider ?? ""}`
    let known = this.#compiled.get(key)
    if (known === undefined) {
      known = compile()
      this.#compiled.set(key, known)
    }
    return known
  }
}

export class Authorization {
  readonly #http: Pools
  readonly #tcp: Pools

  constructor(
    policies: readonly AuthorizationPolicy[],
    mesh: MeshConfig,
    readonly issuers: NamedIssuers,
    choice: RuleChoice = EVERY_RULE,
    known?: KnownRules,
  ) {
    const compiled = compilePolicies(policies, mesh, issuers.enforced, choice, known)
    const enforced = compiled.filter(({ shadow }) => !shadow)
    const promoted =
      enforced.length === compiled.length ? undefined : promote(compiled, policies, mesh, issuers, choice)
    // A proxy builds its indexes in advance, so that the first request does not have to wait. An analysis judges too
    // few requests for an index to pay.
    const indexed = known === undefined
    const pool = (of: readonly CompiledPolicy[]): Pool => new Pool(of, indexed)
    this.#http = { enforced: pool(enforced), promoted: promoted && pool(promoted) }
    this.#tcp = { enforced: pool(enforced.map(tcpPolicy)), promoted: promoted && pool(promoted.map(tcpPolicy)) }
    if (indexed) this.#prepare()
  }

  #prepare(): void {
    for (const { enforced, promoted } of [this.#http, this.#tcp]) {
      void enforced.engine
      void promoted?.engine
    }
  }

  /** `allowedBy`: providers that have allowed this request. */
  decide(attributes: Attributes, allowedBy?: ReadonlySet<string>): Decision {
    const { enforced, promoted } = this.#pools(attributes)
    const shadow = promoted?.engine.verdict(attributes, allowedBy)
    return new PooledDecision(enforced.engine, attributes, allowedBy, shadow)
  }

  /** For each provider that has not allowed the request, the first CUSTOM rule that matches. */
  asked(attributes: Attributes, allowedBy: ReadonlySet<string>): readonly RuleRef[] {
    return this.#pools(attributes).enforced.engine.asked(attributes, allowedBy)
  }

  /** Names of the providers that may be asked. */
  get providers(): ReadonlySet<string> {
    const custom = this.#http.enforced.policies.filter(({ action }) => action === "CUSTOM")
    return new Set(custom.flatMap(({ rules }) => rules.flatMap(({ ref }) => ref.provider ?? [])))
  }

  /** Every policy as it applies to HTTP requests, including shadow policies. */
  get httpPolicies(): readonly CompiledPolicy[] {
    return allOf(this.#http)
  }

  /** Every policy as it applies to this kind of traffic, including shadow policies. */
  policies(attributes: Attributes): readonly CompiledPolicy[] {
    return allOf(this.#pools(attributes))
  }

  /** The enforced policies as they apply to this kind of traffic, for explaining. */
  enforced(attributes: Attributes): readonly CompiledPolicy[] {
    return this.#pools(attributes).enforced.policies
  }

  /** All policies as if the shadow policies were enforced; undefined if there are no shadow policies. */
  promoted(attributes: Attributes): readonly CompiledPolicy[] | undefined {
    return this.#pools(attributes).promoted?.policies
  }

  #pools({ http }: Attributes): Pools {
    return http === undefined ? this.#tcp : this.#http
  }
}

function allOf({ enforced, promoted }: Pools): readonly CompiledPolicy[] {
  return [...enforced.policies, ...(promoted?.policies ?? []).filter(({ shadow }) => shadow)]
}

/**
 * INVARIANT: shadow policies, including the issuers of a RequestAuthentication, never change the meaning of an enforced
 * rule.
 */
function promote(
  compiled: readonly CompiledPolicy[],
  policies: readonly AuthorizationPolicy[],
  mesh: MeshConfig,
  { enforced, promoted }: NamedIssuers,
  choice: RuleChoice,
): readonly CompiledPolicy[] {
  const same = [...promoted].every(issuer => enforced.has(issuer))
  return same ? compiled : compilePolicies(policies, mesh, promoted, choice)
}

class PooledDecision implements Decision {
  readonly verdict: Verdict["verdict"]
  readonly stage: Verdict["stage"]
  readonly rule: RuleRef | undefined
  readonly asked: readonly RuleRef[] | undefined
  readonly audit: RuleRef | undefined
  readonly shadow: Verdict | undefined
  readonly #policy: Verdict["policy"]
  // The input of `nearest`, kept only if no ALLOW rule matched.
  readonly #missed: { readonly engine: Engine; readonly attributes: Attributes } | undefined
  #nearest: NearMiss | undefined

  constructor(
    engine: Engine,
    attributes: Attributes,
    allowedBy: ReadonlySet<string> | undefined,
    shadow: Verdict | undefined,
  ) {
    const { verdict, stage, policy, rule, asked } = engine.verdict(attributes, allowedBy)
    this.verdict = verdict
    this.stage = stage
    this.rule = rule
    this.asked = asked
    this.#policy = policy
    this.audit = engine.audit(attributes)
    this.shadow = shadow
    if (verdict === "deny" && rule === undefined) this.#missed = { engine, attributes }
  }

  get policy(): Verdict["policy"] {
    return this.nearest?.rule.policy ?? this.#policy
  }

  get nearest(): NearMiss | undefined {
    if (this.#missed === undefined) return undefined
    this.#nearest ??= this.#missed.engine.nearest(this.#missed.attributes)
    return this.#nearest
  }

  toJSON(): Decision {
    const { verdict, stage, policy, rule, asked, audit, shadow, nearest } = this
    return { verdict, stage, policy, rule, ...(asked !== undefined && { asked }), audit, shadow, nearest }
  }
}

const ACTIONS: readonly Action[] = ["ALLOW", "DENY", "AUDIT", "CUSTOM"]

function compilePolicies(
  policies: readonly AuthorizationPolicy[],
  mesh: MeshConfig,
  issuers: Issuers,
  choice: RuleChoice,
  known?: KnownRules,
): readonly CompiledPolicy[] {
  const attributes = attributeTable(issuers, mesh.dialect)
  return policies.map(policy => compilePolicy(policy, mesh, attributes, choice, known))
}

function compilePolicy(
  policy: AuthorizationPolicy,
  mesh: MeshConfig,
  attributes: AttributeTable,
  choice: RuleChoice,
  known: KnownRules | undefined,
): CompiledPolicy {
  const { metadata, spec, kind } = policy
  const ref = { namespace: metadata.namespace, name: metadata.name }
  const action = spec.action ?? "ALLOW"
  // Validation rejects other actions; a policy in no pool would neither deny nor turn its scope to default-deny.
  if (!ACTIONS.includes(action)) throw new RangeError(`unknown action \`${action}\` of ${ref.namespace}/${ref.name}`)
  const provider = spec.provider?.name
  return {
    ref,
    action,
    shadow: isShadow({ kind, metadata, spec }, mesh),
    rules: (spec.rules ?? []).flatMap((rule, index) => {
      if (!choice(rule, policy)) return []
      const made = (): CompiledRule => compileRule(ref, index, rule, mesh, attributes, provider)
      return [known === undefined ? made() : known.compiled(ref, index, rule, provider, made)]
    }),
  }
}

function tcpPolicy(policy: CompiledPolicy): CompiledPolicy {
  const rules = policy.rules.map(rule => rule.tcp(policy.action))
  return { ...policy, rules: rules.filter((rule): rule is CompiledRule => rule !== undefined) }
}
