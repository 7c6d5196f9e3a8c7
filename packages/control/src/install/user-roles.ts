// SPDX-License-Identifier: Apache-2.0
// Permissions for policies and answers, aggregated into the cluster's own roles. `view` reads policies and counts.
// `edit` also sees single decisions, which contain paths, addresses and rule inputs, and may query what a change would
// do. `admin` writes policies, because the administrator of a namespace decides who may call it.

import type { MeshNames } from "@merlon/policy/mesh"
import { answersGroup, HISTORY_RESOURCES, OBSERVATION_RESOURCES, PROOF_RESOURCES } from "../answers/api/resources.js"
import { type KubernetesObject, policyTypes } from "../kubernetes/resource-type.js"

const READ = ["get", "list", "watch"]
const WRITE = ["create", "update", "patch", "delete", "deletecollection"]

export function userRoles(names: MeshNames): readonly KubernetesObject[] {
  const answers = { apiGroups: [answersGroup(names)] }
  const counted = OBSERVATION_RESOURCES.map(({ name }) => name).filter(name => name !== "decisions")
  const policies = Object.values(policyTypes(names)).map(({ group, plural }) => ({
    apiGroups: [group],
    resources: [plural],
  }))
  const role = (name: string, partOf: "view" | "edit" | "admin", rules: readonly object[]): KubernetesObject => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: {
      name: `${names.mesh}-${name}`,
      labels: { [`rbac.authorization.k8s.io/aggregate-to-${partOf}`]: "true" },
    },
    rules,
  })
  return [
    role(
      "policies-view",
      "view",
      policies.map(kind => ({ ...kind, verbs: READ })),
    ),
    role(
      "policies-admin",
      "admin",
      policies.map(kind => ({ ...kind, verbs: WRITE })),
    ),
    role("answers-view", "view", [{ ...answers, resources: counted, verbs: ["get", "list"] }]),
    role("answers-edit", "edit", [
      { ...answers, resources: ["decisions"], verbs: READ },
      // These name users.
      { ...answers, resources: HISTORY_RESOURCES.map(({ name }) => name), verbs: ["get", "list"] },
      { ...answers, resources: PROOF_RESOURCES.map(({ name }) => name), verbs: ["create"] },
    ]),
  ]
}
