// SPDX-License-Identifier: Apache-2.0
// The NetworkPolicy of capture by Service: injected Pods accept connections only at xserver's ports, so that callers
// cannot bypass it. One per namespace, created before its Pods.

import type { MeshNames } from "@merlon/policy/mesh"
import { componentNames } from "../install/component-names.js"
import { type Manifest, partOf } from "../install/manifests.js"
import { type OwnerReference, ownedBy } from "../kubernetes/owner-reference.js"
import { NETWORK_POLICIES } from "../kubernetes/resource-type.js"
import { FIRST_LISTEN_PORT } from "../registry/application-ports.js"
import { HEALTH_PORT, injectionNames, MAX_PORTS } from "./injection-options.js"

export function capturePolicy(names: MeshNames, namespace: string, owners: readonly OwnerReference[] = []): Manifest {
  return {
    type: NETWORK_POLICIES,
    object: {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: componentNames(names).capturePolicy, namespace, labels: partOf(names), ...ownedBy(owners) },
      spec: {
        podSelector: { matchLabels: { [injectionNames(names).captureLabel]: "service" } },
        policyTypes: ["Ingress"],
        ingress: [
          {
            ports: [
              { protocol: "TCP", port: FIRST_LISTEN_PORT, endPort: FIRST_LISTEN_PORT + MAX_PORTS - 1 },
              { protocol: "TCP", port: HEALTH_PORT },
              // Policies cover only TCP, so the Pod's other traffic stays open.
              { protocol: "UDP" },
              { protocol: "SCTP" },
            ],
          },
        ],
      },
    },
  }
}
