// SPDX-License-Identifier: Apache-2.0
// The control plane's own objects in a cluster, as values: its namespace, its account, and exactly the permissions that
// it needs. An installation applies them, and so does the embedded cluster at startup.

import type { MeshNames } from "@merlon/policy/mesh"
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type KubernetesObject,
  NAMESPACES,
  policyTypes,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from "../kubernetes/resource-type.js"
import { apiServiceName } from "./answer-manifests.js"
import { componentNames } from "./component-names.js"
import { userRoles } from "./user-roles.js"

export interface Manifest {
  readonly type: ResourceType
  readonly object: KubernetesObject
}

interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** In the order in which they must be applied. */
export function accessManifests(names: MeshNames): readonly Manifest[] {
  const { controlPlane } = componentNames(names)
  const { rootNamespace: namespace } = names
  const labels = partOf(names)
  const subjects = [{ kind: "ServiceAccount", name: controlPlane, namespace }]
  const roleRef = (kind: string) => ({ apiGroup: RBAC_GROUP, kind, name: controlPlane })
  const meta = { name: controlPlane, labels }
  return [
    { type: NAMESPACES, object: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } } },
    {
      type: SERVICE_ACCOUNTS,
      object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...meta, namespace } },
    },
    {
      type: CLUSTER_ROLES,
      object: { apiVersion: RBAC_VERSION, kind: "ClusterRole", metadata: meta, rules: clusterRules(names) },
    },
    {
      type: CLUSTER_ROLE_BINDINGS,
      object: {
        apiVersion: RBAC_VERSION,
        kind: "ClusterRoleBinding",
        metadata: meta,
        roleRef: roleRef("ClusterRole"),
        subjects,
      },
    },
    {
      type: ROLES,
      object: { apiVersion: RBAC_VERSION, kind: "Role", metadata: { ...meta, namespace }, rules: ROOT_RULES },
    },
    {
      type: ROLE_BINDINGS,
      object: {
        apiVersion: RBAC_VERSION,
        kind: "RoleBinding",
        metadata: { ...meta, namespace },
        roleRef: roleRef("Role"),
        subjects,
      },
    },
    {
      type: ROLE_BINDINGS,
      object: {
        apiVersion: RBAC_VERSION,
        kind: "RoleBinding",
        // To read the authority that the API server uses as an authenticating proxy.
        metadata: { name: `${controlPlane}-authentication-reader`, namespace: "kube-system", labels },
        roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: "extension-apiserver-authentication-reader" },
        subjects,
      },
    },
    ...userRoles(names).map(object => ({
      type: CLUSTER_ROLES,
      object: { ...object, metadata: { ...object.metadata, labels: { ...labels, ...object.metadata.labels } } },
    })),
  ]
}

export function partOf(names: MeshNames): { readonly [key: string]: string } {
  return { "app.kubernetes.io/part-of": names.mesh }
}

const RBAC_GROUP = "rbac.authorization.k8s.io"
const RBAC_VERSION = `${RBAC_GROUP}/v1`
const READ = ["get", "list", "watch"]

function clusterRules(names: MeshNames): readonly PolicyRule[] {
  const { controlPlane, capturePolicy, trustBundle, validator, injector } = componentNames(names)
  const own = Object.values(policyTypes(names))
  const groups = [...new Set(own.map(({ group }) => group))]
  return [
    { apiGroups: [""], resources: ["namespaces", "pods", "services"], verbs: READ },
    // To check whether the owner of a policy was deleted, and with it the workloads that the policy protects until they
    // are gone.
    { apiGroups: ["apps"], resources: ["deployments", "replicasets", "statefulsets", "daemonsets"], verbs: ["get"] },
    { apiGroups: ["batch"], resources: ["jobs", "cronjobs"], verbs: ["get"] },
    // Address and readiness of workloads without a kubelet.
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
    // A permission to create cannot be limited to a name; all others are.
    { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] },
    { apiGroups: [""], resources: ["configmaps"], resourceNames: [trustBundle], verbs: [...READ, "update", "patch"] },
    { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["get", "create", "patch"] },
    { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
    // To check whether users may query the answers API.
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    { apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["create"] },
    {
      apiGroups: ["apiregistration.k8s.io"],
      resources: ["apiservices"],
      resourceNames: [apiServiceName(names)],
      verbs: ["get", "patch", "delete"],
    },
    { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["create"] },
    {
      apiGroups: ["apiextensions.k8s.io"],
      resources: ["customresourcedefinitions"],
      resourceNames: own.map(({ plural, group }) => `${plural}.${group}`),
      verbs: ["get", "patch"],
    },
    // To name our role as the owner of objects that must not outlive us.
    { apiGroups: [RBAC_GROUP], resources: ["clusterroles"], resourceNames: [controlPlane], verbs: ["get"] },
    // Capture by Service closes the ports that bypass xserver.
    { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: ["create"] },
    {
      apiGroups: ["networking.k8s.io"],
      resources: ["networkpolicies"],
      resourceNames: [capturePolicy],
      verbs: ["get", "patch", "delete"],
    },
    { apiGroups: ["admissionregistration.k8s.io"], resources: WEBHOOKS, verbs: ["create"] },
    {
      apiGroups: ["admissionregistration.k8s.io"],
      resources: WEBHOOKS,
      resourceNames: [validator, injector],
      verbs: ["get", "patch"],
    },
    ...groups.flatMap(group => {
      const plurals = own.filter(type => type.group === group).map(({ plural }) => plural)
      return [
        { apiGroups: [group], resources: plurals, verbs: READ },
        { apiGroups: [group], resources: plurals.map(plural => `${plural}/status`), verbs: ["patch", "update"] },
      ]
    }),
  ]
}

const WEBHOOKS = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]

/** Only in the root namespace: the signing key, the stored key sets, the leader's Lease, and the Leases of replicas. */
const ROOT_RULES: readonly PolicyRule[] = [
  // For a control plane outside the cluster: the Service by which the API server finds it.
  { apiGroups: [""], resources: ["services"], verbs: ["create", "patch"] },
  { apiGroups: [""], resources: ["secrets"], verbs: [...READ, "create", "update", "patch"] },
  { apiGroups: [""], resources: ["configmaps"], verbs: [...READ, "create", "update", "patch", "delete"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: [...READ, "create", "update", "patch", "delete"],
  },
]
