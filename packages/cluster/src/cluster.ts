// SPDX-License-Identifier: Apache-2.0
// Wires the cluster: store, registry, controllers and server, started in order and stopped in reverse.

import { mkdir } from "node:fs/promises"
import type { AddressInfo } from "node:net"
import { hostname } from "node:os"
import { join } from "node:path"
import { AdmissionChain } from "./admission/admission.js"
import { closeAgents } from "./admission/client.js"
import { ApiServices } from "./aggregation/api-services.js"
import { FrontProxyIdentity, publishFrontProxy } from "./aggregation/front-proxy.js"
import { BearerTokens } from "./auth/bearer-tokens.js"
import { type OidcOptions, OidcTokens } from "./auth/oidc.js"
import { type Credentials, kubeconfig, loadCredentials, writeKubeconfig } from "./auth/pki.js"
import { Rbac } from "./auth/rbac.js"
import { Tokens } from "./auth/tokens.js"
import { bootstrap } from "./bootstrap.js"
import { RoleAggregator } from "./controllers/aggregation.js"
import { CrdController } from "./controllers/crds.js"
import { GarbageCollector } from "./controllers/garbage.js"
import { namespaceController } from "./controllers/namespaces.js"
import { podCollector } from "./controllers/pods.js"
import { ClusterError } from "./errors.js"
import { defaultLimits, type Limits } from "./http/limits.js"
import { ApiServer } from "./http/server.js"
import { OpenApi } from "./openapi/documents.js"
import { Catalog } from "./registry/catalog.js"
import { Registry } from "./registry/registry.js"
import { openEmbeddedStore } from "./store/embedded/open.js"
import type { Store } from "./store/store.js"

export interface ClusterOptions {
  /** The folder of everything that the cluster stores: objects, keys, kubeconfig. */
  readonly dataDir: string
  readonly host?: string
  /** 0 picks a free port. */
  readonly port?: number
  /** Additional names and addresses of the serving certificate. */
  readonly names?: readonly string[]
  readonly limits?: Partial<Limits>
  /**
   * Namespaces whose service accounts run the system, such as the control plane's. Slots are reserved for them, so that
   * the leader keeps its lease however many requests other clients send. The default is `kube-system`.
   */
  readonly systemNamespaces?: readonly string[]
  readonly clock?: () => number
  /** An issuer whose ID tokens are accepted in addition to the cluster's own tokens. */
  readonly oidc?: OidcOptions
  /** A store of the caller, instead of the embedded one. It is closed with the cluster. */
  readonly store?: Store
  /** Called for errors that the client did not cause. */
  log?(error: unknown, request: string): void
}

export interface Cluster {
  readonly url: string
  readonly port: number
  readonly kubeconfigPath: string
  readonly caCertificate: string
  /** Removes all history before the current revision. */
  compact(): Promise<void>
  revision(): number
  close(): Promise<void>
}

const DEFAULT_PORT = 7443
/** History older than this is removed, as in kube-apiserver. */
const COMPACT_EVERY_MS = 5 * 60_000
const CLOSE_GRACE_MS = 2000

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const clock = options.clock ?? Date.now
  const host = options.host ?? "127.0.0.1"
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const names = [hostname(), ...(host === "0.0.0.0" || host === "::" ? [] : [host]), ...(options.names ?? [])]
  const credentials = await loadCredentials(join(options.dataDir, "pki"), names, clock())
  const store = options.store ?? (await openEmbeddedStore(join(options.dataDir, "store")))
  try {
    return await assemble(options, credentials, store, host, clock)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function assemble(
  options: ClusterOptions,
  credentials: Credentials,
  store: Store,
  host: string,
  clock: () => number,
): Promise<Cluster> {
  const catalog = new Catalog()
  const recent = store.recent()
  const rbac = new Rbac(recent, catalog)
  const registry = new Registry(store, catalog, new AdmissionChain(recent, catalog, rbac), clock)
  const tokens = new Tokens(credentials, recent, catalog, clock)
  const oidc = options.oidc && new OidcTokens(options.oidc, clock, error => options.log?.(error, "an ID token"))
  const bearers = new BearerTokens(tokens, oidc)
  const first = store.revision() <= 1
  await publishFrontProxy(registry, credentials, options.store !== undefined)
  await bootstrap(registry)
  const aggregator = new RoleAggregator(registry)
  await aggregator.start()
  // No client has seen a revision from before the first start, so no watch may begin there.
  if (first) await store.compact(store.revision())
  await catalog.follow(store)
  const identity = new FrontProxyIdentity(credentials.frontProxy)
  const apiServices = new ApiServices(store, identity)
  catalog.aggregate(apiServices)
  const controllers = [
    new CrdController(registry),
    namespaceController(registry),
    new GarbageCollector(registry),
    podCollector(registry),
    apiServices,
  ]
  for (const controller of controllers) await controller.start()
  let ready = false
  let address = ""
  const server = new ApiServer({
    credentials,
    bearers,
    rbac,
    resources: { registry, reviews: { rbac, tokens, bearers, registry } },
    aggregation: { apiServices, identity },
    paths: { catalog, store, tokens, openapi: new OpenApi(catalog), address: () => address, ready: () => ready },
    limits: { ...defaultLimits, ...options.limits },
    systemNamespaces: new Set(options.systemNamespaces ?? ["kube-system"]),
    clock,
    log: (error, request) => options.log?.(error, request),
  })
  const port = await listen(server, host, options.port ?? DEFAULT_PORT)
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  address = `${shown.includes(":") ? `[${shown}]` : shown}:${port}`
  const url = `https://${address}`
  const kubeconfigPath = join(options.dataDir, "kubeconfig")
  await writeKubeconfig(kubeconfigPath, kubeconfig(credentials, url))
  ready = true
  let earlier = store.revision()
  const compaction = setInterval(() => {
    const upTo = earlier
    earlier = store.revision()
    // A failed compaction only costs space, and is retried at the next interval.
    store.compact(upTo).catch((error: unknown) => options.log?.(error, "compaction"))
  }, COMPACT_EVERY_MS)
  compaction.unref()
  return {
    url,
    port,
    kubeconfigPath,
    caCertificate: credentials.caCertificate,
    compact: () => store.compact(store.revision()),
    revision: () => store.revision(),
    async close() {
      ready = false
      clearInterval(compaction)
      await server.close(CLOSE_GRACE_MS)
      for (const controller of [...controllers, aggregator]) await controller.close()
      catalog.close()
      await closeAgents()
      await oidc?.close()
      await store.close()
    },
  }
}

function listen(server: ApiServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.server.once("error", error =>
      reject(
        new ClusterError("listen-failed", `cannot listen on \`${host}:${port}\`: ${error.message}`, { cause: error }),
      ),
    )
    server.server.listen(port, host, () => resolve((server.server.address() as AddressInfo).port))
  })
}
