// SPDX-License-Identifier: Apache-2.0
// One set of policies for one workload: what its mTLS mode denies, which tokens it accepts, and its rules. With
// `promoted`, as if every policy in shadow mode were enforced.

import { EVERY_RULE, type KnownRules, type RuleChoice } from "../authorization/authorization.js"
import type { CompiledPolicy } from "../authorization/engine.js"
import type { CompiledRule } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type { EffectiveMode } from "../peer/mode.js"
import { compile, type Program } from "../program.js"
import { parseIp } from "../request/ip.js"
import type { PolicyDocument, RequestAuthentication } from "../resources/document.js"
import { select } from "../selection/select.js"
import { isShadow } from "../selection/shadow.js"
import type { Workload } from "../selection/workload.js"
import type { Budget } from "./budget.js"
import { relevantRules, rulesMeeting } from "./relevance.js"
import { withReplayKeys } from "./replay-keys.js"
import { SeenHeaders } from "./seen-headers.js"
import { type ProofTokenRule, proofTokenRules } from "./token-rules.js"
import type { Witness } from "./witness.js"

export type Pool = "enforced" | "promoted"

export interface Rules {
  readonly deny: readonly CompiledRule[]
  readonly allow: readonly CompiledRule[]
  /** Rules whose provider may deny what they match. */
  readonly custom: readonly CompiledRule[]
  /** Some ALLOW policy applies, possibly one without rules: only requests that a rule matches are allowed. */
  readonly closed: boolean
}

export interface PolicySide {
  /** Compiled with replay keys, so that witnesses can be replayed. Of the rules, it contains only the chosen ones. */
  readonly program: Program
  /** The same program with every rule that the witness can match. */
  programFor(witness: Witness): Program
  readonly pool: Pool
  readonly tokens: readonly ProofTokenRule[]
  readonly headers: SeenHeaders
  readonly http: Rules
  readonly tcp: Rules
  /** Ports for which some policy sets a mode. */
  readonly namedPorts: readonly number[]
  mode(port: number | undefined): EffectiveMode
}

const NO_PORT = 0

export function policySide(
  all: readonly PolicyDocument[],
  workload: Workload,
  mesh: MeshConfig,
  pool: Pool = "enforced",
  choice: RuleChoice = EVERY_RULE,
  known?: KnownRules,
  budget?: Budget,
): PolicySide {
  const documents = inPool(all, mesh, pool)
  const replayable = withReplayKeys(documents)
  const program = compile(replayable, workload, mesh, undefined, inTime(choice, budget), known)
  const authentications: readonly RequestAuthentication[] = select("RequestAuthentication", documents, workload, mesh)
  const tokens = proofTokenRules(authentications, mesh.dialect)
  return {
    program,
    programFor: witness => {
      if (choice === EVERY_RULE) return program
      const meeting = rulesMeeting(witness, mesh)
      const lacks = policiesOf(documents, workload, mesh).some(policy =>
        (policy.spec.rules ?? []).some(rule => !choice(rule, policy) && meeting(rule, policy)),
      )
      return lacks ? compile(replayable, workload, mesh, undefined, EVERY_RULE, known) : program
    },
    pool,
    tokens,
    headers: new SeenHeaders(tokens, program.protectedHeaders, mesh.dialect),
    http: rulesOf(program.authorization.enforced({ ...SOME, http: SOME_HTTP })),
    tcp: rulesOf(program.authorization.enforced(SOME)),
    namedPorts: namedPorts(documents),
    mode: port => program.peers.resolve(port ?? NO_PORT).mode,
  }
}

/** The same choice, which gives up between rules when the time limit was reached. */
function inTime(choice: RuleChoice, budget: Budget | undefined): RuleChoice {
  if (budget === undefined) return choice
  return (rule, policy) => {
    budget.look()
    return choice(rule, policy)
  }
}

/** The rules that matter for a comparison of two sets that are otherwise equal; undefined if all of them do. */
export function relevantChoice(
  sets: readonly [readonly PolicyDocument[], readonly PolicyDocument[]],
  workload: Workload,
  meshes: readonly [MeshConfig, MeshConfig],
  pool: Pool,
  budget: Budget,
): RuleChoice | undefined {
  const policies = (at: 0 | 1) => policiesOf(inPool(sets[at], meshes[at], pool), workload, meshes[at])
  return relevantRules(policies(0), policies(1), meshes[1], budget)
}

function inPool(all: readonly PolicyDocument[], mesh: MeshConfig, pool: Pool): readonly PolicyDocument[] {
  return pool === "enforced" ? all.filter(document => !inShadow(document, mesh)) : all.map(promoted)
}

function policiesOf(documents: readonly PolicyDocument[], workload: Workload, mesh: MeshConfig) {
  return select("AuthorizationPolicy", documents, workload, mesh)
}

function inShadow(document: PolicyDocument, mesh: MeshConfig): boolean {
  return document.kind !== "MeshService" && isShadow(document, mesh)
}

/** The same document with neither spelling of shadow mode. */
function promoted(document: PolicyDocument): PolicyDocument {
  const { annotations: _, ...metadata } = document.metadata
  switch (document.kind) {
    case "AuthorizationPolicy":
      return { ...document, metadata, spec: { ...document.spec, enforcement: "Enforce" } }
    case "PeerAuthentication":
      return { ...document, metadata, spec: { ...document.spec, enforcement: "Enforce" } }
    case "RequestAuthentication":
      return { ...document, metadata, spec: { ...document.spec, enforcement: "Enforce" } }
    case "PolicyInvariant":
    case "MeshService":
      return document
  }
}

function rulesOf(policies: readonly CompiledPolicy[]): Rules {
  const of = (action: CompiledPolicy["action"]) => policies.filter(policy => policy.action === action)
  return {
    deny: of("DENY").flatMap(({ rules }) => rules),
    allow: of("ALLOW").flatMap(({ rules }) => rules),
    custom: of("CUSTOM").flatMap(({ rules }) => rules),
    closed: of("ALLOW").length > 0,
  }
}

function namedPorts(documents: readonly PolicyDocument[]): readonly number[] {
  const ports = documents.flatMap(document =>
    document.kind === "PeerAuthentication" ? Object.keys(document.spec.portLevelMtls ?? {}).map(Number) : [],
  )
  return [...new Set(ports)].sort((a, b) => a - b)
}

// The rules are the same for every request of a protocol; the evaluator needs a request to select them.
const NOWHERE = parseIp("192.0.2.1") ?? { family: 4, words: [0, 0, 0, 0], text: "" }
const SOME_HTTP = { method: "GET", host: "", scheme: "http", path: "/", query: "", headers: new Map() }
const SOME = {
  peer: undefined,
  sourceIp: NOWHERE,
  remoteIp: NOWHERE,
  destinationIp: NOWHERE,
  destinationPort: NO_PORT,
  sni: undefined,
  http: undefined,
  token: undefined,
}
