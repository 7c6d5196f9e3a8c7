// SPDX-License-Identifier: Apache-2.0
// The three functions that everything else calls: `compile` the documents for one workload, `decide` a request, `explain`
// it in full. The proxy, the admission webhook, the command line and the console share them, so explanations match
// decisions.

import { Authorization, type KnownRules, type RuleChoice } from "./authorization/authorization.js"
import type { Decision } from "./authorization/decision.js"
import { explainAuthorization, type Trace } from "./authorization/explain.js"
import { headersRead } from "./authorization/headers-read.js"
import type { Issuers } from "./authorization/request-principal.js"
import { DenyReplies } from "./deny-replies.js"
import type { MeshConfig } from "./mesh/config.js"
import { PeerModes } from "./peer/mode.js"
import type { Attributes } from "./request/attributes.js"
import { ProtectedHeaders } from "./request/protected-headers.js"
import type { PolicyDocument } from "./resources/document.js"
import { select } from "./selection/select.js"
import type { Workload } from "./selection/workload.js"
import {
  compileTokenRules,
  issuersOf,
  type KeySetLookup,
  type TokenProgram,
  type TokenRules,
} from "./tokens/program.js"

export interface Program {
  readonly workload: Workload
  readonly mesh: MeshConfig
  readonly tokens: TokenProgram
  readonly protectedHeaders: ProtectedHeaders
  readonly authorization: Authorization
  readonly peers: PeerModes
  readonly denyReplies: DenyReplies
}

/**
 * Documents that do not select the workload are skipped. Throws if a document was not validated. Without key sets only
 * rules with inline keys can verify a token; tokens of the other rules are rejected.
 */
export function compile(
  documents: readonly PolicyDocument[],
  workload: Workload,
  mesh: MeshConfig,
  keySets: KeySetLookup = () => undefined,
  choice?: RuleChoice,
  known?: KnownRules,
): Program {
  const tokenPolicies = select("RequestAuthentication", documents, workload, mesh)
  const tokens = compileTokenRules(tokenPolicies, keySets, mesh.dialect)
  // Istio separates issuer and subject at the last slash, whatever issuers are named.
  const named = (rules: TokenRules): Issuers => (mesh.dialect === "istio" ? new Set() : issuersOf(rules))
  const issuers = { enforced: named(tokens), promoted: named(tokens.shadow ?? tokens) }
  const policies = select("AuthorizationPolicy", documents, workload, mesh)
  const authorization = new Authorization(policies, mesh, issuers, choice, known)
  return {
    workload,
    mesh,
    tokens,
    protectedHeaders: new ProtectedHeaders(tokens, mesh, () => headersRead(authorization), authorization.providers),
    authorization,
    peers: new PeerModes(documents, workload, mesh),
    denyReplies: new DenyReplies(tokenPolicies, policies, mesh),
  }
}

/** `allowedBy`: providers of CUSTOM policies that have allowed this request; the answers of the others are unknown. */
export function decide(program: Program, attributes: Attributes, allowedBy?: ReadonlySet<string>): Decision {
  return program.authorization.decide(attributes, allowedBy)
}

export function explain(program: Program, attributes: Attributes): Trace {
  return explainAuthorization(program.authorization, attributes)
}
