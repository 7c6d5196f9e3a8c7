// SPDX-License-Identifier: Apache-2.0
// Who owns an object: with the owner goes what it owns, deleted by the cluster and not by anybody's decision.

import { listOf, objectOf, textOf } from "../registry/foreign.js"
import { type ObjectMeta, PODS, type ResourceType } from "./resource-type.js"

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

const workload = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: true,
})

/** What owns Pods, directly or not, and what we have the right to ask for. */
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
