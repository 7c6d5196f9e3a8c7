// SPDX-License-Identifier: Apache-2.0
// Documents as the rest of the system uses them: validated, normalised and immutable. Only `validate` creates them.

import type { AuthorizationPolicySpec } from "./authorization-policy/definition.js"
import type { MeshServiceSpec } from "./mesh-service/definition.js"
import type { PeerAuthenticationSpec } from "./peer-authentication/definition.js"
import type { PolicyInvariantSpec } from "./policy-invariant/definition.js"
import type { RequestAuthenticationSpec } from "./request-authentication/definition.js"

export type Kind =
  | "RequestAuthentication"
  | "AuthorizationPolicy"
  | "PeerAuthentication"
  | "PolicyInvariant"
  | "MeshService"

/** Kubernetes object metadata: the fields that we read are typed, the rest is kept. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  /** RFC 3339, as written by the API server. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly [other: string]: unknown
}

/** The metadata of a policy, which always has a namespace. */
export interface Metadata extends ObjectMeta {
  readonly namespace: string
}

export interface StatusCondition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

export interface Status {
  readonly observedGeneration?: number
  readonly conditions?: readonly StatusCondition[]
}

interface Document<K extends Kind, Spec> {
  readonly apiVersion: string
  readonly kind: K
  readonly metadata: Metadata
  readonly spec: Spec
  readonly status?: Status
}

export interface RequestAuthentication extends Document<"RequestAuthentication", RequestAuthenticationSpec> {}
export interface AuthorizationPolicy extends Document<"AuthorizationPolicy", AuthorizationPolicySpec> {}
export interface PeerAuthentication extends Document<"PeerAuthentication", PeerAuthenticationSpec> {}
export interface PolicyInvariant extends Document<"PolicyInvariant", PolicyInvariantSpec> {}
export interface MeshService extends Document<"MeshService", MeshServiceSpec> {}

export type PolicyDocument =
  | RequestAuthentication
  | AuthorizationPolicy
  | PeerAuthentication
  | PolicyInvariant
  | MeshService
