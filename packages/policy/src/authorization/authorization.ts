// SPDX-License-Identifier: Apache-2.0
// The AuthorizationPolicies of one workload, compiled: once for HTTP requests and once for TCP connections, each with
// the enforced pool and, where Shadow policies apply, the pool that would be enforced if they were.

import type { MeshConfig } from "../mesh/config.js"
import type { Attributes } from "../request/attributes.js"
import type { AuthorizationPolicy } from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import type { Decision, Verdict } from "./decision.js"
import { type Action, type CompiledPolicy, Engine } from "./engine.js"
import type { NearMiss } from "./nearest.js"
import { type CompiledRule, compileRule, type RuleRef } from "./rule.js"

interface Pools {
  readonly policies: readonly CompiledPolicy[]
  readonly enforced: Engine
  readonly promoted: Engine | undefined
}

export class Authorization {
  readonly #http: Pools
  readonly #tcp: Pools

  constructor(policies: readonly AuthorizationPolicy[], mesh: MeshConfig) {
    const compiled = policies.map(policy => compilePolicy(policy, mesh))
    this.#http = pools(compiled)
    this.#tcp = pools(compiled.map(tcpPolicy))
  }

  decide(attributes: Attributes): Decision {
    const { enforced, promoted } = this.#pools(attributes)
    return new PooledDecision(enforced, attributes, promoted?.verdict(attributes))
  }

  /** Every compiled policy as it applies to HTTP requests. */
  get httpPolicies(): readonly CompiledPolicy[] {
    return this.#http.policies
  }

  /** Every compiled policy as it applies to this kind of traffic, for explaining. */
  policies(attributes: Attributes): readonly CompiledPolicy[] {
    return this.#pools(attributes).policies
  }

  #pools({ http }: Attributes): Pools {
    return http === undefined ? this.#tcp : this.#http
  }
}

class PooledDecision implements Decision {
  readonly verdict: Verdict["verdict"]
  readonly stage: Verdict["stage"]
  readonly rule: RuleRef | undefined
  readonly audit: RuleRef | undefined
  readonly shadow: Verdict | undefined
  readonly #policy: Verdict["policy"]
  // What `nearest` needs, kept for an ALLOW miss only.
  readonly #missed: { readonly engine: Engine; readonly attributes: Attributes } | undefined
  #nearest: NearMiss | undefined

  constructor(engine: Engine, attributes: Attributes, shadow: Verdict | undefined) {
    const { verdict, stage, policy, rule } = engine.verdict(attributes)
    this.verdict = verdict
    this.stage = stage
    this.rule = rule
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
    const { verdict, stage, policy, rule, audit, shadow, nearest } = this
    return { verdict, stage, policy, rule, audit, shadow, nearest }
  }
}

const ACTIONS: readonly Action[] = ["ALLOW", "DENY", "AUDIT"]

function compilePolicy({ metadata, spec, kind }: AuthorizationPolicy, mesh: MeshConfig): CompiledPolicy {
  const ref = { namespace: metadata.namespace, name: metadata.name }
  const action = spec.action ?? "ALLOW"
  // Validation refuses other actions; a policy that no pool asks would neither deny nor turn its scope to default-deny.
  if (!ACTIONS.includes(action)) throw new RangeError(`unknown action \`${action}\` of ${ref.namespace}/${ref.name}`)
  return {
    ref,
    action,
    shadow: isShadow({ kind, metadata, spec }, mesh),
    rules: (spec.rules ?? []).map((rule, index) => compileRule(ref, index, rule, mesh)),
  }
}

function tcpPolicy(policy: CompiledPolicy): CompiledPolicy {
  const rules = policy.rules.map(rule => rule.tcp(policy.action))
  return { ...policy, rules: rules.filter((rule): rule is CompiledRule => rule !== undefined) }
}

function pools(policies: readonly CompiledPolicy[]): Pools {
  const enforced = policies.filter(({ shadow }) => !shadow)
  return {
    policies,
    enforced: new Engine(enforced),
    promoted: enforced.length === policies.length ? undefined : new Engine(policies),
  }
}
