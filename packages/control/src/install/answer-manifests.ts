// SPDX-License-Identifier: Apache-2.0
// Registers the answers API in a cluster: the address to which the API server forwards its requests.

import type { MeshNames } from "@merlon/policy/mesh"
import { ANSWERS_VERSION, answersGroup } from "../answers/api/resources.js"
import { type OwnerReference, ownedBy } from "../kubernetes/owner-reference.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"

export function apiServiceName(names: MeshNames): string {
  return `${ANSWERS_VERSION}.${answersGroup(names)}`
}

export interface ApiServiceAddress {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

/**
 * The APIService is deleted together with its `owners`. If an API group without a server were left behind, no namespace
 * could be deleted.
 */
export function apiService(
  names: MeshNames,
  service: ApiServiceAddress,
  { caBundle, owners = [] }: { readonly caBundle: string; readonly owners?: readonly OwnerReference[] },
): KubernetesObject {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: {
      name: apiServiceName(names),
      labels: { "app.kubernetes.io/part-of": names.mesh },
      ...ownedBy(owners),
    },
    spec: {
      group: answersGroup(names),
      version: ANSWERS_VERSION,
      groupPriorityMinimum: 1_000,
      versionPriority: 10,
      service,
      caBundle: Buffer.from(caBundle).toString("base64"),
    },
  }
}
