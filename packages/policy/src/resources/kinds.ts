// SPDX-License-Identifier: Apache-2.0
// All kinds in one table: their names, contents, checks and descriptions. Code that treats all kinds alike reads only
// this table.

import type { TSchema } from "typebox"
import type { MeshNames } from "../mesh/names.js"
import { checkAuthorizationPolicy } from "./authorization-policy/check.js"
import { authorizationPolicySpec } from "./authorization-policy/definition.js"
import { authorizationPolicyExample } from "./authorization-policy/example.js"
import type { Kind } from "./document.js"
import type { Field } from "./field.js"
import { checkMeshService } from "./mesh-service/check.js"
import { meshServiceSpec } from "./mesh-service/definition.js"
import { meshServiceExample } from "./mesh-service/example.js"
import { checkPeerAuthentication } from "./peer-authentication/check.js"
import { peerAuthenticationSpec } from "./peer-authentication/definition.js"
import { peerAuthenticationExample } from "./peer-authentication/example.js"
import { checkPolicyInvariant } from "./policy-invariant/check.js"
import { policyInvariantSpec } from "./policy-invariant/definition.js"
import { policyInvariantExample } from "./policy-invariant/example.js"
import { checkRequestAuthentication } from "./request-authentication/check.js"
import { requestAuthenticationSpec } from "./request-authentication/definition.js"
import { requestAuthenticationExample } from "./request-authentication/example.js"

export interface PrinterColumn {
  readonly name: string
  readonly type: "string" | "date"
  readonly jsonPath: string
  readonly description: string
  /** 1 shows the column only in wide output. */
  readonly priority?: number
}

export interface KindDefinition {
  readonly kind: Kind
  readonly plural: string
  readonly singular: string
  readonly shortName: string
  readonly group: "security" | "networking"
  readonly summary: string
  readonly spec: TSchema
  /** A valid document, below `apiVersion` and `kind`. */
  readonly example: string
  readonly columns: readonly PrinterColumn[]
  /** Whether a document without `spec` is valid. */
  readonly specOptional: boolean
  readonly check: (spec: Field, document: Field, names: MeshNames) => void
}

const ENFORCEMENT: PrinterColumn = {
  name: "Enforcement",
  type: "string",
  jsonPath: ".spec.enforcement",
  description: "Enforce, or Shadow to observe only.",
  priority: 1,
}

export const KINDS: readonly KindDefinition[] = [
  {
    kind: "RequestAuthentication",
    plural: "requestauthentications",
    singular: "requestauthentication",
    shortName: "ra",
    group: "security",
    summary:
      "Controls which tokens are trusted. A token where a rule looks must be valid; to require one, use `presence: REQUIRED` or an AuthorizationPolicy.",
    spec: requestAuthenticationSpec,
    example: requestAuthenticationExample,
    specOptional: true,
    check: checkRequestAuthentication,
    columns: [
      {
        name: "Issuer",
        type: "string",
        jsonPath: ".spec.jwtRules[0].issuer",
        description: "The first issuer whose tokens count.",
      },
      ENFORCEMENT,
      {
        name: "Keys",
        type: "string",
        jsonPath: '.status.conditions[?(@.type=="JwksReady")].status',
        description: "Whether the keys of every issuer are there.",
      },
    ],
  },
  {
    kind: "AuthorizationPolicy",
    plural: "authorizationpolicies",
    singular: "authorizationpolicy",
    shortName: "ap",
    group: "security",
    summary:
      "Controls who may do what. Any DENY match denies; once an ALLOW policy applies to a workload, only requests that one of them matches are allowed.",
    spec: authorizationPolicySpec,
    example: authorizationPolicyExample,
    specOptional: true,
    check: checkAuthorizationPolicy,
    columns: [
      { name: "Action", type: "string", jsonPath: ".spec.action", description: "What a match means." },
      ENFORCEMENT,
    ],
  },
  {
    kind: "PeerAuthentication",
    plural: "peerauthentications",
    singular: "peerauthentication",
    shortName: "pa",
    group: "security",
    summary: "Controls whether workloads accept mutual TLS, plaintext or both. The narrowest scope wins.",
    spec: peerAuthenticationSpec,
    example: peerAuthenticationExample,
    specOptional: true,
    check: checkPeerAuthentication,
    columns: [
      { name: "Mode", type: "string", jsonPath: ".spec.mtls.mode", description: "The mode of all ports not named." },
      ENFORCEMENT,
    ],
  },
  {
    kind: "PolicyInvariant",
    plural: "policyinvariants",
    singular: "policyinvariant",
    shortName: "pi",
    group: "security",
    summary:
      "States what policies must never allow, or must always allow. A change that would break it is rejected, with a request that shows it.",
    spec: policyInvariantSpec,
    example: policyInvariantExample,
    specOptional: false,
    check: checkPolicyInvariant,
    columns: [
      {
        name: "Holds",
        type: "string",
        jsonPath: '.status.conditions[?(@.type=="Holds")].status',
        description: "Whether every rule of the invariant holds for every workload.",
      },
      ENFORCEMENT,
    ],
  },
  {
    kind: "MeshService",
    plural: "meshservices",
    singular: "meshservice",
    shortName: "ms",
    group: "networking",
    summary: "Says how callers reach a host: by which destinations, in which shares, with which TLS mode.",
    spec: meshServiceSpec,
    example: meshServiceExample,
    specOptional: false,
    check: checkMeshService,
    columns: [
      { name: "Hosts", type: "string", jsonPath: ".spec.hosts", description: "The hosts governed." },
      {
        name: "TLS",
        type: "string",
        jsonPath: ".spec.trafficPolicy.tls.mode",
        description: "How callers connect unless a destination says otherwise.",
      },
    ],
  },
]

/**
 * All versions have the same schema: manifests of other meshes use the later ones, and only their group needs an edit.
 * The first one is the stored version, which we also write.
 */
export function servedVersions({ version }: MeshNames): readonly [string, ...string[]] {
  return [version, "v1beta1", "v1"]
}

export function isServed(apiVersion: unknown, definition: KindDefinition, names: MeshNames): boolean {
  const group = definition.group === "security" ? names.securityGroup : names.networkingGroup
  return servedVersions(names).some(version => apiVersion === `${group}/${version}`)
}

export function apiVersionOf(definition: KindDefinition, names: MeshNames): string {
  const group = definition.group === "security" ? names.securityGroup : names.networkingGroup
  return `${group}/${names.version}`
}

export function exampleDocument(definition: KindDefinition, names: MeshNames): string {
  return `apiVersion: ${apiVersionOf(definition, names)}\nkind: ${definition.kind}\n${definition.example}`
}
