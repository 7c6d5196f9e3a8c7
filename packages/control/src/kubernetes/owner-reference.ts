// SPDX-License-Identifier: Apache-2.0
// Owners of an object: the cluster deletes an object with its owner, without a user's decision.

import { listOf, objectOf, textOf } from "../registry/foreign.js"
import type { KubernetesClient } from "./client.js"
import { CLUSTER_ROLES, type ObjectMeta, PODS, type ResourceType } from "./resource-type.js"

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

export function ownerReferences(metadata: ObjectMeta): readonly OwnerReference[] {
  return listOf(metadata.ownerReferences).flatMap(value => {
    const { apiVersion, kind, name, uid } = objectOf(value)
    const [version, type, called, id] = [apiVersion, kind, name, uid].map(textOf)
    if (version === undefined || type === undefined || called === undefined || id === undefined) return []
    return [{ apiVersion: version, kind: type, name: called, uid: id }]
  })
}

/**
 * Our own role, as the owner of objects that must not outlive us. If the role is deleted, we are being uninstalled, and
 * the cluster's garbage collector deletes the objects that name it as owner, in any namespace. Empty if there is no
 * such role.
 */
export async function roleAsOwner(
  client: Pick<KubernetesClient, "get">,
  name: string,
): Promise<readonly OwnerReference[]> {
  const role = await client.get(CLUSTER_ROLES, name).catch(() => undefined)
  const uid = role?.metadata.uid
  return uid === undefined ? [] : [{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name, uid }]
}

export type Owners = () => Promise<readonly OwnerReference[]>

/**
 * The same for components that write as long as we run. After the role is deleted it is still named as owner: the
 * garbage collector deletes objects whose owner is gone, so nothing that is written during shutdown stays.
 */
export function lastKnownRoleAsOwner(client: Pick<KubernetesClient, "get">, name: string): Owners {
  let last: readonly OwnerReference[] = []
  return async () => {
    const found = await roleAsOwner(client, name)
    if (found.length > 0) last = found
    return last
  }
}

/** Metadata fields that name these owners. */
export function ownedBy(owners: readonly OwnerReference[]): { readonly ownerReferences?: readonly OwnerReference[] } {
  return owners.length === 0 ? {} : { ownerReferences: owners }
}

const workload = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: true,
})

/** Kinds that own Pods, directly or indirectly, and that we may read. */
const OWNERS: readonly ResourceType[] = [
  PODS,
  workload("apps", "deployments", "Deployment"),
  workload("apps", "replicasets", "ReplicaSet"),
  workload("apps", "statefulsets", "StatefulSet"),
  workload("apps", "daemonsets", "DaemonSet"),
  workload("batch", "jobs", "Job"),
  workload("batch", "cronjobs", "CronJob"),
]

/** Undefined for kinds that own no Pods. */
export function ownerType({ apiVersion, kind }: OwnerReference): ResourceType | undefined {
  return OWNERS.find(
    type => type.kind === kind && (type.group === "" ? type.version : `${type.group}/${type.version}`) === apiVersion,
  )
}

/** The likely path of an unknown kind, guessed as kubectl does. */
export function inferredType({ apiVersion, kind }: OwnerReference): ResourceType {
  const [group = "", version = apiVersion] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion]
  const singular = kind.toLowerCase()
  const plural = /(?:s|x|ch|sh)$/.test(singular) ? `${singular}es` : `${singular}s`.replace(/([^aeiou])ys$/, "$1ies")
  return { group, version, plural, kind, namespaced: true }
}
