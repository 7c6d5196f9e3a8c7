// SPDX-License-Identifier: Apache-2.0
// Builds the state for proxies and callers from copies of the cluster: registry, keys, views, routes. Data flows one
// way; nothing here knows who is connected.

import { encodeProxyResource, loadRouteEncoders } from "@merlon/xds"
import type { Logger } from "pino"
import type { TrustSource } from "../authority/trust-source.js"
import { fetchJwks } from "../keysets/fetch-jwks.js"
import { KeySetPersistence } from "../keysets/key-set-persistence.js"
import { FetchedKeySets } from "../keysets/key-set-store.js"
import type { KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { systemClock } from "../observe/clock.js"
import type { ControlTracer } from "../observe/tracer.js"
import { traced } from "../observe/traces.js"
import type { ControlPlaneOptions } from "../options.js"
import { DeletedPolicies } from "../policies/deleted-policies.js"
import { DeletedServices } from "../policies/deleted-services.js"
import { documentsInForce } from "../policies/documents-in-force.js"
import { feedPolicies } from "../policies/policies-feed.js"
import { type OnInvalid, StoredPolicies } from "../policies/stored-policies.js"
import { Registry } from "../registry/registry.js"
import { feedRegistry } from "../registry/registry-feed.js"
import { outboundModes } from "../routes/outbound-modes.js"
import { PeerModeSource } from "../routes/peer-mode-source.js"
import { RouteClients } from "../routes/route-clients.js"
import { MeshRoutes } from "../routes/route-resources.js"
import { WorkloadViews } from "../snapshot/workload-views.js"
import { retrying } from "./bootstrap.js"
import type { Reflectors } from "./reflectors.js"

export interface MeshState {
  readonly policies: StoredPolicies
  readonly registry: Registry
  readonly keySets: FetchedKeySets
  readonly persistence: KeySetPersistence
  readonly views: WorkloadViews
  readonly routes: RouteClients
  /** Resolves once everything stored has been read. */
  readonly complete: Promise<void>
  stop(): void
}

export interface MeshStateOptions
  extends Pick<ControlPlaneOptions, "client" | "mesh" | "outboundPolicy" | "clusterDomain" | "logger"> {
  readonly reflectors: Reflectors
  readonly trust: TrustSource
  readonly issuers: ControlPlaneOptions["keySets"]
  readonly isLeader: () => boolean
  readonly tracer: ControlTracer
  readonly onInvalid: OnInvalid
  readonly keysAttempted: (id: string, error: string | undefined) => void
}

export async function startMeshState(options: MeshStateOptions): Promise<MeshState> {
  const { client, mesh, clusterDomain, logger, reflectors, trust, isLeader } = options
  const { names } = mesh
  const warn = (message: string): void => logger.warn(message)

  const registry = new Registry({ names, clusterDomain, warn: (key, message) => logger.warn({ pod: key }, message) })
  const policies = new StoredPolicies({ names, onInvalid: options.onInvalid })
  const deletedServices = new DeletedServices({ policies, registry, client, warn })
  const registryFeed = feedRegistry(registry, reflectors, deletedServices)

  const persistence = new KeySetPersistence({ client, names, isLeader, warn })
  const persisted = persistence.load()
  const keySets = keySetsOf(options, persisted)
  persistence.follow(keySets)

  const deletedPolicies = new DeletedPolicies({
    policies,
    client,
    directory: registry,
    names,
    warn,
  })
  const policiesFeed = feedPolicies(policies, reflectors.policies, key => deletedPolicies.deleted(key))

  const views = new WorkloadViews({
    mesh,
    policies,
    directory: registry,
    keySets,
    trust,
    encode: encodeProxyResource,
  })
  // Without the stored key sets, the first views would make proxies reject valid tokens.
  let stopped = false
  const going = policiesFeed.synced.then(() => goingNamespaces(client, logger))
  const complete = Promise.all([going, registryFeed.synced, reflectors.namespaces.synced, keySets.loaded]).then(
    ([uids]) => {
      const uidOf = (namespace: string) => reflectors.namespaces.items.get(namespace)?.metadata.uid
      if (!stopped) views.begin(namespace => uids.has(uidOf(namespace) ?? ""))
    },
  )

  const modes = new PeerModeSource(documentsInForce(policies, "PeerAuthentication"), mesh)
  const meshRoutes = new MeshRoutes({
    directory: registry,
    meshServices: documentsInForce(policies, "MeshService"),
    modes,
    outboundModes: outboundModes({
      namespaces: reflectors.namespaces,
      names,
      mode: options.outboundPolicy,
      warn: (namespace, message) => logger.warn({ namespace }, message),
    }),
    trust,
    encoders: await loadRouteEncoders(),
    mesh,
    clusterDomain,
  })
  const routes = new RouteClients({ routes: meshRoutes })

  return {
    policies,
    registry,
    keySets,
    persistence,
    views,
    routes,
    complete,
    stop: () => {
      stopped = true
      routes.close()
      meshRoutes.close()
      modes.close()
      policiesFeed.stop()
      deletedPolicies.stop()
      views.stop()
      persistence.stop()
      keySets.close()
      registryFeed.stop()
      deletedServices.stop()
    },
  }
}

/**
 * Uids of the namespaces that are being deleted, read after all policies: policies that were gone by then were deleted
 * with one of them, and it is unknown what their workloads had to enforce.
 */
async function goingNamespaces(client: KubernetesClient, logger: Logger): Promise<ReadonlySet<string>> {
  const going = new Set<string>()
  await retrying(logger, "the namespaces", async () => {
    const { items } = await client.list<KubernetesObject>(NAMESPACES)
    for (const { metadata } of items) if (metadata.deletionTimestamp !== undefined) going.add(metadata.uid ?? "")
  })
  return going
}

function keySetsOf(
  { issuers, mesh, tracer, keysAttempted }: MeshStateOptions,
  persisted: ReturnType<KeySetPersistence["load"]>,
): FetchedKeySets {
  const { authorities, denyPrivateAddresses, allowLoopback, perNamespace } = issuers
  return new FetchedKeySets({
    persisted,
    limits: { perNamespace, rootNamespace: mesh.names.rootNamespace },
    attempted: keysAttempted,
    fetch: (source, signal) =>
      traced(tracer, "fetch keys", { issuer: source.issuer ?? source.jwksUri ?? "" }, async span => {
        const fetched = await fetchJwks(source, signal, {
          clock: systemClock,
          denyPrivateAddresses,
          allowLoopback,
          ...(authorities === undefined ? {} : { caBundle: authorities }),
        })
        if (!fetched.ok) span.fail(fetched.error)
        return fetched
      }),
  })
}
