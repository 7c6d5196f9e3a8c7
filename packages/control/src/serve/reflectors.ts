// SPDX-License-Identifier: Apache-2.0
// All copies of cluster objects that the control plane keeps, and how up to date they are.

import type { MeshNames } from "@merlon/policy/mesh"
import type { Kind } from "@merlon/policy/resources"
import { FRONT_PROXY } from "../answers/api/remote-user.js"
import { ledgerLabel } from "../answers/call-ledger.js"
import { authorityNames } from "../authority/authority-names.js"
import { reportLabel } from "../distribution/replica-reporter.js"
import { historyLabel } from "../history/history-store.js"
import type { KubernetesClient, ListOptions } from "../kubernetes/client.js"
import { Reflector, type ReflectorOptions } from "../kubernetes/reflector-loop.js"
import {
  CONFIG_MAPS,
  type KubernetesObject,
  LEASES,
  NAMESPACES,
  PODS,
  policyTypes,
  type ResourceType,
  SECRETS,
  SERVICES,
} from "../kubernetes/resource-type.js"
import { reducedPod } from "../registry/reduced-pod.js"
import { replicaNames } from "../replicas/replica-names.js"

type Copy = Reflector<KubernetesObject>
type FollowOptions = ListOptions & Pick<ReflectorOptions<KubernetesObject>, "kept">

export interface Reflectors {
  readonly namespaces: Copy
  readonly pods: Copy
  readonly services: Copy
  readonly policies: { readonly [K in Kind]: Copy }
  /** In the root namespace, as are the next two. */
  readonly secrets: Copy
  readonly configMaps: Copy
  readonly reports: Copy
  /** The ledger of calls. */
  readonly calls: Copy
  /** Leases of the replicas of the control plane. */
  readonly replicas: Copy
  /** ConfigMap with the authority that the API server uses as an authenticating proxy. */
  readonly frontProxy: Copy
  /** The trust bundles of all namespaces. */
  readonly bundles: Copy
  health(): readonly CopyHealth[]
  stop(): Promise<void>
}

export interface CopyHealth {
  readonly kind: string
  readonly synced: boolean
  /** For how many milliseconds the API has been unreachable; 0 while the copy is up to date. */
  readonly silentMs: number
}

export function startReflectors(
  client: KubernetesClient,
  names: MeshNames,
  log: (message: string, error: unknown) => void,
): Reflectors {
  const all: { readonly kind: string; readonly copy: Copy; synced: boolean }[] = []
  const follow = (kind: string, type: ResourceType, options: FollowOptions = {}): Copy => {
    const copy = new Reflector<KubernetesObject>({ client, type, log, ...options })
    const entry = { kind, copy, synced: false }
    all.push(entry)
    void copy.synced.then(() => {
      entry.synced = true
    })
    return copy.start()
  }
  const { rootNamespace: namespace } = names
  const types = policyTypes(names)
  return {
    namespaces: follow("Namespace", NAMESPACES),
    pods: follow("Pod", PODS, { kept: reducedPod }),
    services: follow("Service", SERVICES),
    policies: {
      RequestAuthentication: follow("RequestAuthentication", types.RequestAuthentication),
      AuthorizationPolicy: follow("AuthorizationPolicy", types.AuthorizationPolicy),
      PeerAuthentication: follow("PeerAuthentication", types.PeerAuthentication),
      PolicyInvariant: follow("PolicyInvariant", types.PolicyInvariant),
      MeshService: follow("MeshService", types.MeshService),
    },
    secrets: follow("Secret", SECRETS, { namespace }),
    // Histories are large, and read only on demand.
    configMaps: follow("ConfigMap", CONFIG_MAPS, { namespace, labelSelector: `!${historyLabel(names)}` }),
    reports: follow("ReplicaReport", CONFIG_MAPS, { namespace, labelSelector: reportLabel(names) }),
    calls: follow("CallLedger", CONFIG_MAPS, { namespace, labelSelector: ledgerLabel(names) }),
    replicas: follow("ReplicaLease", LEASES, { namespace, labelSelector: replicaNames(names).label }),
    frontProxy: follow("FrontProxy", CONFIG_MAPS, {
      namespace: FRONT_PROXY.namespace,
      fieldSelector: `metadata.name=${FRONT_PROXY.name}`,
    }),
    bundles: follow("TrustBundle", CONFIG_MAPS, {
      fieldSelector: `metadata.name=${authorityNames(names).bundleConfigMap}`,
    }),
    health: () =>
      all.map(({ kind, copy, synced }) => ({
        kind,
        synced,
        silentMs: copy.health.connected ? 0 : Math.max(0, Date.now() - copy.health.since),
      })),
    stop: async () => {
      await Promise.all(all.map(({ copy }) => copy.stop()))
    },
  }
}
