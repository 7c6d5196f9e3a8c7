// SPDX-License-Identifier: Apache-2.0
// Names by which replicas of the control plane find and identify each other: the Lease with the address, and the
// expected identity.

import type { MeshConfig, MeshNames } from "@merlon/policy/mesh"
import { spiffeId } from "@merlon/policy/request"
import { componentNames } from "../install/component-names.js"

export interface ReplicaNames {
  /** The label of replicas' Leases. */
  readonly label: string
  /** `HOST:PORT` at which the replica answers others. */
  readonly addressAnnotation: string
  readonly lease: (replica: string) => string
}

export function replicaNames({ mesh, domain }: MeshNames): ReplicaNames {
  return {
    label: `${domain}/replica`,
    addressAnnotation: `${domain}/replica-address`,
    lease: replica => `${mesh}-replica-${labelOf(replica)}`,
  }
}

/** Makes a label: host names may contain characters that labels and object names may not. */
export function labelOf(replica: string): string {
  const plain = replica.toLowerCase().replace(/[^a-z0-9.]+/g, "-")
  return plain.slice(-63).replace(/^[.-]+|[.-]+$|(?<=\.)-+|-+(?=\.)|(?<=\.)\.+/g, "") || "unnamed"
}

export interface ReplicaIdentity {
  /** A SPIFFE ID. */
  readonly uri: string
  /**
   * A workload of the same account could get a certificate with the same URI. Workload certificates have no DNS name,
   * so this one proves that the holder of the signing key made the certificate for itself.
   */
  readonly dnsName: string
}

export function replicaIdentity({ names, trustDomain }: MeshConfig): ReplicaIdentity {
  const { controlPlane } = componentNames(names)
  const { rootNamespace } = names
  return {
    uri: spiffeId(trustDomain, rootNamespace, controlPlane).uri,
    dnsName: `${controlPlane}.${rootNamespace}.svc`,
  }
}
