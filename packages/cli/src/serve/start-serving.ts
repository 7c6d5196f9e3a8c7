// SPDX-License-Identifier: Apache-2.0
// Starts a control plane from flags: finds the cluster or starts one, and connects to it like any client.

import { hostname } from "node:os"
import { join, resolve } from "node:path"
import type { Cluster } from "@merlon/cluster"
import type { Console } from "@merlon/console"
import { ControlPlane, type ControlPlaneOptions } from "@merlon/control"
import type { ProxyResources } from "@merlon/control/admission"
import { bootstrapServiceAccount, componentNames } from "@merlon/control/install"
import {
  type Connection,
  connectionFrom,
  type HttpKubernetesClient,
  httpClient,
  inClusterConnection,
  SYSTEM_TIME,
} from "@merlon/control/kubernetes"
import { type MeshNames, meshConfig, meshNames, type PathNormalization } from "@merlon/policy/mesh"
import type { OutboundMode } from "@merlon/xds"
import { messageOf } from "@merlon/xds/runtime"
import type { Logger } from "pino"
import { shellWord } from "../shell-word.js"
import { VERSION } from "../version.js"
import { makeWritable } from "../writable-folder.js"
import { clusterOidc, rejectClusterOidc } from "./cluster-oidc.js"
import { type EtcdFlags, etcdStore } from "./etcd-flags.js"
import { readAuthorities } from "./issuer-authorities.js"
import { type OidcFlags, oidcOptions } from "./oidc-options.js"
import { readProviderFile } from "./provider-file.js"
import { reachableHost, urlHost } from "./reachable-host.js"
import { serveConsole } from "./serve-console.js"

export interface ServeFlags extends OidcFlags, EtcdFlags {
  readonly mesh: string
  readonly domain: string
  readonly trustDomain: string
  readonly trustDomainAlias: readonly string[]
  /** Absent for the mesh's default. */
  readonly pathNormalization?: PathNormalization
  readonly numTrustedProxies: number
  readonly providers?: string
  readonly clusterDomain: string
  readonly kubeconfig?: string
  readonly context?: string
  readonly embedded?: boolean
  readonly data: string
  readonly apiListen?: string
  readonly apiPort: number
  readonly listen?: string
  readonly meshListen?: string
  readonly meshPort: number
  readonly webhookPort: number
  readonly healthPort: number
  readonly replicaPort: number
  readonly replicaAddress?: string
  readonly console: boolean
  readonly answersApi: boolean
  readonly consolePort: number
  readonly consoleHost: readonly string[]
  readonly servingName: readonly string[]
  readonly replica?: string
  readonly certificateTtl: number
  readonly maxCertificateTtl: number
  readonly rotationSettle: number
  readonly authority?: string
  readonly jwksCa?: string
  readonly denyPrivateIssuers?: boolean
  readonly allowLoopbackIssuers?: boolean
  readonly proofBudget: number
  readonly historyEntries: number
  readonly maxIssuersPerNamespace: number
  readonly image: string
  readonly capture: "redirect" | "service"
  readonly udp: "pass" | "refuse"
  readonly outbound: "off" | "capture"
  readonly outboundPolicy: OutboundMode
  readonly sidecar: "auto" | "native" | "plain"
  readonly proxyResources?: ProxyResources
  readonly controlPlane?: string
  readonly traces?: string
}

type Environment = { readonly [name: string]: string | undefined }

export interface Serving {
  readonly controlPlane: ControlPlane
  readonly cluster: Cluster | undefined
  /** What to show the user after the start. */
  readonly summary: string
  stop(): Promise<void>
}

const ROOT_LIFETIME_MS = 10 * 365 * 24 * 3_600_000
const LOOPBACK = "127.0.0.1"

export async function startServing(flags: ServeFlags, env: Environment, logger: Logger): Promise<Serving> {
  const names = meshNames({ mesh: flags.mesh, domain: flags.domain })
  // Checked first, so that invalid flags fail before anything starts.
  oidcOptions(flags)
  const inCluster = inClusterConnection({ ...env }, SYSTEM_TIME) !== undefined
  const isElsewhere = flags.kubeconfig !== undefined || (env.KUBECONFIG ?? "") !== "" || inCluster
  if (flags.etcd.length > 0 && flags.kubeconfig !== undefined)
    throw new Error("`--etcd` is the store of a cluster of our own, `--kubeconfig` names another one; give one of them")
  const isOwn = flags.embedded === true || flags.etcd.length > 0 || !isElsewhere
  if (!isOwn) rejectClusterOidc(flags)
  const cluster = isOwn ? await bringCluster(flags, env, names, logger) : undefined
  try {
    const { connection, close } = await connect(flags, env, names, cluster, logger)
    const client = clientOf(connection, names)
    const host = reachableHost(listenHost(flags, inCluster))
    const controlPlane = await ControlPlane.start(
      optionsOf(flags, names, client, {
        inCluster,
        // With etcd, other replicas contain the same cluster.
        hasCluster: cluster !== undefined && flags.etcd.length === 0,
        nativeSidecar: await isNative(flags.sidecar, client),
        logger,
      }),
    )
    const console = await bringConsole(flags, { host, names, connection, cluster, logger })
    const stop = async (): Promise<void> => {
      await console?.close()
      await controlPlane.stop()
      await client.close()
      await close()
      await cluster?.close()
    }
    return { controlPlane, cluster, summary: summaryOf(host, controlPlane, connection, cluster, console), stop }
  } catch (error) {
    await cluster?.close()
    throw error
  }
}

async function bringCluster(flags: ServeFlags, env: Environment, names: MeshNames, logger: Logger): Promise<Cluster> {
  // Loaded on demand: in a Pod there is neither an embedded store nor the native module that it needs.
  const { startCluster } = await import("@merlon/cluster")
  makeWritable(resolve(flags.data))
  const store = await etcdStore(flags, { ...env })
  return startCluster({
    dataDir: join(resolve(flags.data), "cluster"),
    host: flags.apiListen ?? LOOPBACK,
    port: flags.apiPort,
    names: flags.servingName,
    ...(store === undefined ? {} : { store }),
    ...(await clusterOidc(flags)),
    // The control plane keeps its lease and its share of concurrency whatever tenants send.
    systemNamespaces: ["kube-system", names.rootNamespace],
    log: (error, request) => logger.error({ request, error: messageOf(error) }, "the API failed"),
  })
}

async function connect(
  { kubeconfig, context }: ServeFlags,
  env: Environment,
  names: MeshNames,
  cluster: Cluster | undefined,
  logger: Logger,
): Promise<{ readonly connection: Connection; readonly close: () => Promise<void> }> {
  const warn = (message: string): void => logger.warn(message)
  if (cluster === undefined) {
    const connection = connectionFrom({
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      ...(context === undefined ? {} : { context }),
      env: { ...env },
      warn,
    })
    return { connection, close: () => Promise.resolve() }
  }
  // The administrator's client is used only here. The control plane has the same permissions as in any cluster.
  const administrator = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {}, warn })
  const admin = clientOf(administrator, names)
  const connection = await bootstrapServiceAccount({ admin, connection: administrator, names })
  return { connection, close: () => admin.close() }
}

interface ConsoleSurroundings {
  readonly host: string
  readonly names: MeshNames
  readonly connection: Connection
  readonly cluster: Cluster | undefined
  readonly logger: Logger
}

/** Policies do not depend on the console: if it cannot be served, the reason is logged, and the rest continues. */
async function bringConsole(
  { console: wanted, consolePort, consoleHost, data, ...flags }: ServeFlags,
  { host, names, connection, cluster, logger }: ConsoleSurroundings,
): Promise<Console | undefined> {
  if (!wanted) return undefined
  // Importing the codes also loads the page, which is larger than the rest of a control plane.
  const { consoleCodes } = await import("./console-key.js")
  const warn = (message: string): void => logger.warn(message)
  const owner = cluster && {
    codes: consoleCodes(resolve(data)),
    connection: connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {}, warn }),
  }
  const onError = (error: unknown): void => logger.error({ error: messageOf(error) }, "the console failed")
  try {
    const served = await serveConsole({
      ...{ host, port: consolePort, hosts: consoleHost, names, connection, owner, onError },
      oidc: oidcOptions(flags),
    })
    if (served === undefined) warn("the console is not served: its page was not built; `npm run build` builds it")
    return served
  } catch (error) {
    warn(`the console is not served on port ${consolePort}: ${messageOf(error)}; choose another with --console-port`)
    return undefined
  }
}

function clientOf(connection: Connection, names: MeshNames): HttpKubernetesClient {
  const { fieldManager } = componentNames(names)
  return httpClient(connection, { userAgent: fieldManager, fieldManager })
}

function listenHost({ listen }: ServeFlags, inCluster: boolean): string {
  return listen ?? (inCluster ? "::" : LOOPBACK)
}

interface Surroundings {
  readonly inCluster: boolean
  readonly hasCluster: boolean
  readonly nativeSidecar: boolean
  readonly logger: Logger
}

/** Kubelets may be three minor versions older than the API server, and support native sidecars since 1.29. */
const NATIVE_SINCE = 32

async function isNative(sidecar: ServeFlags["sidecar"], client: HttpKubernetesClient): Promise<boolean> {
  if (sidecar !== "auto") return sidecar === "native"
  // The start continues if the server does not report its version. It is not queried again later.
  const { major, minor, git } = await client.version().catch(() => ({ major: 0, minor: 0, git: "" }))
  // Our embedded cluster has no kubelets: there, users only read what Pods would look like.
  if (git.endsWith("+merlon")) return false
  return major > 1 || (major === 1 && minor >= NATIVE_SINCE)
}

function optionsOf(
  flags: ServeFlags,
  names: MeshNames,
  client: HttpKubernetesClient,
  { inCluster, hasCluster, nativeSidecar, logger }: Surroundings,
): ControlPlaneOptions {
  const { controlPlane } = componentNames(names)
  const host = listenHost(flags, inCluster)
  const reachable = reachableHost(host)
  const service = `${controlPlane}.${names.rootNamespace}.svc`
  return {
    client,
    outboundPolicy: flags.outboundPolicy,
    mesh: meshConfig({
      names,
      trustDomain: flags.trustDomain,
      trustDomainAliases: flags.trustDomainAlias,
      pathNormalization: flags.pathNormalization,
      numTrustedProxies: flags.numTrustedProxies,
      ...(flags.providers !== undefined && { providers: readProviderFile(flags.providers) }),
    }),
    clusterDomain: flags.clusterDomain,
    replica: flags.replica ?? `${hostname()}-${process.pid}`,
    hasCluster,
    version: VERSION,
    listen: {
      host,
      meshHost: flags.meshListen,
      meshPort: flags.meshPort,
      webhookPort: flags.webhookPort,
      healthPort: flags.healthPort,
      replicaPort: flags.replicaPort,
    },
    replicaHost: flags.replicaAddress ?? reachable,
    servingNames: [
      ...new Set([
        service,
        `${service}.${flags.clusterDomain}`,
        "localhost",
        LOOPBACK,
        reachable,
        ...flags.servingName,
      ]),
    ],
    webhooks: inCluster
      ? { service: controlPlane, port: 443 }
      : { url: port => `https://${urlHost(flags.servingName[0] ?? reachable)}:${port}` },
    answersApi: flags.answersApi,
    certificates: {
      defaultTtlMs: flags.certificateTtl,
      maxTtlMs: Math.max(flags.maxCertificateTtl, flags.certificateTtl),
      rootLifetimeMs: ROOT_LIFETIME_MS,
      rotationSettleMs: flags.rotationSettle,
      folder: flags.authority,
    },
    keySets: {
      authorities: flags.jwksCa === undefined ? undefined : readAuthorities(flags.jwksCa),
      denyPrivateAddresses: flags.denyPrivateIssuers ?? false,
      allowLoopback: flags.allowLoopbackIssuers ?? false,
      perNamespace: flags.maxIssuersPerNamespace,
    },
    injection: {
      image: flags.image,
      capture: flags.capture,
      udp: flags.udp,
      outbound: flags.outbound,
      controlPlane: flags.controlPlane ?? `${service}:15012`,
      nativeSidecar,
      resources: flags.proxyResources,
    },
    proofBudgetMs: flags.proofBudget,
    historyEntries: flags.historyEntries,
    traces: flags.traces,
    logger,
  }
}

function summaryOf(
  host: string,
  controlPlane: ControlPlane,
  connection: Connection,
  cluster: Cluster | undefined,
  console: Console | undefined,
): string {
  const { mesh, webhook, health } = controlPlane.ports
  const lines = [
    `serving the mesh of ${connection.origin}`,
    `proxies    :${mesh}   webhooks :${webhook}   health http://${urlHost(host)}:${health}/readyz`,
    ...(console === undefined ? [] : [`console    http://${urlHost(host)}:${console.port}/`]),
    ...(cluster === undefined ? [] : [`export KUBECONFIG=${shellWord(cluster.kubeconfigPath)}`]),
  ]
  return `${lines.join("\n")}\n`
}
