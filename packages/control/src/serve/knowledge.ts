// SPDX-License-Identifier: Apache-2.0
// From copies of the cluster to what proxies and callers are to be told: registry, keys, views, routes. Data flows one
// way; nothing here knows who is connected.

import { encodeProxyResource, loadRouteEncoders } from "@merlon/xds"
import type { TrustSource } from "../authority/trust-source.js"
import { fetchJwks } from "../keysets/fetch-jwks.js"
import { KeySetPersistence } from "../keysets/key-set-persistence.js"
import { FetchedKeySets } from "../keysets/key-set-store.js"
import { systemClock } from "../observe/clock.js"
import type { ControlTracer } from "../observe/tracer.js"
import { traced } from "../observe/traces.js"
import type { ControlPlaneOptions } from "../options.js"
import { Registry } from "../registry/registry.js"
import { feedRegistry } from "../registry/registry-feed.js"
import { PeerModeSource } from "../routes/peer-mode-source.js"
import { RouteClients } from "../routes/route-clients.js"
import { MeshRoutes } from "../routes/route-resources.js"
import { ValidDocuments } from "../routes/valid-documents.js"
import type { OnInvalid } from "../snapshot/policy-shelf.js"
import { feedViews } from "../snapshot/views-feed.js"
import { WorkloadViews } from "../snapshot/workload-views.js"
import type { Reflectors } from "./reflectors.js"

export interface Knowledge {
  readonly registry: Registry
  readonly keySets: FetchedKeySets
  readonly persistence: KeySetPersistence
  readonly views: WorkloadViews
  readonly routes: RouteClients
  /** Resolves when everything that was stored has been read. */
  readonly complete: Promise<void>
  stop(): void
}

export interface KnowledgeOptions extends Pick<ControlPlaneOptions, "client" | "mesh" | "clusterDomain" | "logger"> {
  readonly reflectors: Reflectors
  readonly trust: TrustSource
  readonly issuers: ControlPlaneOptions["keySets"]
  readonly isLeader: () => boolean
  readonly tracer: ControlTracer
  readonly onInvalid: OnInvalid
  readonly keysAttempted: (id: string, error: string | undefined) => void
}

export async function gatherKnowledge(options: KnowledgeOptions): Promise<Knowledge> {
  const { client, mesh, clusterDomain, logger, reflectors, trust, isLeader } = options
  const { names } = mesh
  const warn = (message: string): void => logger.warn(message)

  const registry = new Registry({ names, clusterDomain, warn: (key, message) => logger.warn({ pod: key }, message) })
  const registryFeed = feedRegistry(registry, reflectors)

  const persistence = new KeySetPersistence({ client, names, isLeader, warn })
  const persisted = persistence.load()
  const keySets = keySetsOf(options, persisted)
  persistence.follow(keySets)

  const views = new WorkloadViews({
    mesh,
    directory: registry,
    keySets,
    trust,
    encode: encodeProxyResource,
    onInvalid: options.onInvalid,
  })
  // Without the keys of an earlier life the first views would have valid tokens refused.
  const others = [registryFeed.synced, reflectors.policies.MeshService.synced, keySets.loaded]
  const viewsFeed = feedViews(views, reflectors.policies, others)

  const peers = new ValidDocuments("PeerAuthentication", reflectors.policies.PeerAuthentication, names)
  const meshServices = new ValidDocuments("MeshService", reflectors.policies.MeshService, names, (key, faults) =>
    options.onInvalid(`MeshService/${key}`, faults, false),
  )
  const modes = new PeerModeSource(peers, mesh)
  const meshRoutes = new MeshRoutes({
    directory: registry,
    meshServices,
    modes,
    trust,
    encoders: await loadRouteEncoders(),
    mesh,
    clusterDomain,
  })
  const routes = new RouteClients({ routes: meshRoutes, clusterDomain })

  return {
    registry,
    keySets,
    persistence,
    views,
    routes,
    complete: viewsFeed.begun,
    stop: () => {
      routes.close()
      meshRoutes.close()
      modes.close()
      peers.close()
      meshServices.close()
      viewsFeed.stop()
      views.stop()
      persistence.stop()
      keySets.close()
      registryFeed.stop()
    },
  }
}

function keySetsOf(
  { issuers, tracer, keysAttempted }: KnowledgeOptions,
  persisted: ReturnType<KeySetPersistence["load"]>,
): FetchedKeySets {
  const { authorities, denyPrivateAddresses } = issuers
  return new FetchedKeySets({
    persisted,
    attempted: keysAttempted,
    fetch: (source, signal) =>
      traced(tracer, "fetch keys", { issuer: source.issuer ?? source.jwksUri ?? "" }, async span => {
        const fetched = await fetchJwks(source, signal, {
          clock: systemClock,
          denyPrivateAddresses,
          ...(authorities === undefined ? {} : { caBundle: authorities }),
        })
        if (!fetched.ok) span.fail(fetched.error)
        return fetched
      }),
  })
}
