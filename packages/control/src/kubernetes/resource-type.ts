// SPDX-License-Identifier: Apache-2.0
// The kinds of Kubernetes objects that the control plane reads and writes, and the shape that all of them share.

import type { MeshNames } from "@merlon/policy/mesh"
import type { ObjectMeta } from "@merlon/policy/resources"

export type { ObjectMeta }

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
}

const core = (plural: string, kind: string, namespaced = true): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
})

const grouped = (group: string, plural: string, kind: string, namespaced: boolean): ResourceType => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced,
})

export const NAMESPACES = core("namespaces", "Namespace", false)
export const PODS = core("pods", "Pod")
export const SERVICES = core("services", "Service")
export const SECRETS = core("secrets", "Secret")
export const CONFIG_MAPS = core("configmaps", "ConfigMap")
export const SERVICE_ACCOUNTS = core("serviceaccounts", "ServiceAccount")
export const EVENTS = core("events", "Event")
export const LEASES = grouped("coordination.k8s.io", "leases", "Lease", true)
export const NETWORK_POLICIES = grouped("networking.k8s.io", "networkpolicies", "NetworkPolicy", true)
export const TOKEN_REVIEWS = grouped("authentication.k8s.io", "tokenreviews", "TokenReview", false)
export const SUBJECT_ACCESS_REVIEWS = grouped(
  "authorization.k8s.io",
  "subjectaccessreviews",
  "SubjectAccessReview",
  false,
)
export const API_SERVICES = grouped("apiregistration.k8s.io", "apiservices", "APIService", false)
export const CUSTOM_RESOURCE_DEFINITIONS = grouped(
  "apiextensions.k8s.io",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  false,
)
const ADMISSION = "admissionregistration.k8s.io"
export const VALIDATING_WEBHOOKS = grouped(
  ADMISSION,
  "validatingwebhookconfigurations",
  "ValidatingWebhookConfiguration",
  false,
)
export const MUTATING_WEBHOOKS = grouped(
  ADMISSION,
  "mutatingwebhookconfigurations",
  "MutatingWebhookConfiguration",
  false,
)
const RBAC = "rbac.authorization.k8s.io"
export const CLUSTER_ROLES = grouped(RBAC, "clusterroles", "ClusterRole", false)
export const ROLES = grouped(RBAC, "roles", "Role", true)
export const ROLE_BINDINGS = grouped(RBAC, "rolebindings", "RoleBinding", true)
export const CLUSTER_ROLE_BINDINGS = grouped(RBAC, "clusterrolebindings", "ClusterRoleBinding", false)

/** The resource types of our own kinds. */
export function policyTypes({ securityGroup, networkingGroup, version }: MeshNames) {
  const security = (plural: string, kind: string): ResourceType => ({
    group: securityGroup,
    version,
    plural,
    kind,
    namespaced: true,
  })
  return {
    RequestAuthentication: security("requestauthentications", "RequestAuthentication"),
    AuthorizationPolicy: security("authorizationpolicies", "AuthorizationPolicy"),
    PeerAuthentication: security("peerauthentications", "PeerAuthentication"),
    PolicyInvariant: security("policyinvariants", "PolicyInvariant"),
    MeshService: { ...security("meshservices", "MeshService"), group: networkingGroup },
  } as const
}

/** `namespace/name`, or only the name for objects without a namespace. */
export function objectKey({ metadata: { namespace, name } }: KubernetesObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Whether the object is being deleted, or is gone. */
export function isBeingDeleted(object: KubernetesObject | undefined): boolean {
  return object === undefined || object.metadata.deletionTimestamp !== undefined
}
