// SPDX-License-Identifier: Apache-2.0
// Checks, with the evaluator that proxies use, whether a witness is one of the requests that a question is about. The
// search assumes that a condition it does not model is met, so a request that it finds need not match the rule.

import type { MeshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../resources/document.js"
import { policySide } from "./policy-side.js"
import { Replay } from "./replay.js"
import type { Region } from "./search/formula.js"
import type { Witness } from "./witness.js"
import type { ProofWorkload } from "./workload.js"

export class RuleReplay {
  #replay: Replay | undefined

  /** `documents` concern the workload; `namespace` is the namespace of the rule. */
  constructor(
    readonly documents: readonly PolicyDocument[],
    readonly workload: ProofWorkload,
    readonly mesh: MeshConfig,
    readonly namespace: string,
    readonly rule: Rule,
  ) {}

  /**
   * `region`: the rule as the search reads it. If all of its conditions are modelled, it matches every request found.
   */
  matches(witness: Witness, region: Region, now: number): boolean {
    if (!region.groups.some(parts => parts.some(({ opaque }) => opaque))) return true
    this.#replay ??= new Replay(policySide(this.#documents(), this.workload, this.mesh))
    return this.#replay.run(witness, now).outcome === "deny"
  }

  /** Token rules apply as usual, except that no token is required. Requests that the rule matches are denied. */
  #documents(): readonly PolicyDocument[] {
    const tokens = this.documents.flatMap(document => {
      if (document.kind !== "RequestAuthentication") return []
      const jwtRules = (document.spec.jwtRules ?? []).map(rule => ({ ...rule, presence: "OPTIONAL" as const }))
      return [{ ...document, spec: { ...document.spec, jwtRules } }]
    })
    const apiVersion = `${this.mesh.names.securityGroup}/${this.mesh.names.version}`
    const metadata = { namespace: this.namespace, name: "question" }
    return [
      ...tokens,
      { apiVersion, kind: "AuthorizationPolicy", metadata, spec: { action: "DENY", rules: [this.rule] } },
    ]
  }
}
