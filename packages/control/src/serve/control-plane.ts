// SPDX-License-Identifier: Apache-2.0
// The control plane, wired: cluster → copies → knowledge → streams, and what comes back → ledger → status. Everything is
// started here and ends here.

import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { DEFAULT_TTL_LIMITS } from "@merlon/identity"
import { MeshServer } from "@merlon/xds"
import { Authority } from "../authority/authority.js"
import { CombinedLedger } from "../distribution/combined-ledger.js"
import { ConnectedProxies } from "../distribution/connected-proxies.js"
import { Distribution } from "../distribution/distribution.js"
import { InternedVersions } from "../distribution/interned-versions.js"
import { DeclaredPresence } from "../distribution/presence.js"
import { ReplicaReporter, reportName } from "../distribution/replica-reporter.js"
import { componentNames } from "../install/component-names.js"
import { installDefinitions } from "../install/install.js"
import { LeaderElection } from "../kubernetes/lease.js"
import { CONFIG_MAPS } from "../kubernetes/resource-type.js"
import { systemClock } from "../observe/clock.js"
import { healthServer } from "../observe/health-server.js"
import { ControlMetrics } from "../observe/metrics.js"
import { Propagation } from "../observe/propagation.js"
import { type ProxyReportSources, proxyReports } from "../observe/proxy-report.js"
import { startTracing } from "../observe/traces.js"
import type { ControlPlaneOptions } from "../options.js"
import { EventRecorder } from "../status/events.js"
import { StatusController } from "../status/status-controller.js"
import { startAdmission } from "./admission.js"
import { AuthorityNews } from "./authority-news.js"
import { ensureRootNamespace, patiently } from "./first-steps.js"
import { issuersOf } from "./issuers.js"
import { gatherKnowledge } from "./knowledge.js"
import { meshServerOptions } from "./mesh-port.js"
import { startReflectors } from "./reflectors.js"

/** Begins the identity of a replica that has the cluster inside of it. */
const WITH_CLUSTER = "embedded/"
const SWEEP_MS = 5_000

export interface ControlPlanePorts {
  readonly mesh: number
  readonly webhook: number
  readonly health: number
}

export class ControlPlane {
  readonly ports: ControlPlanePorts
  readonly #closers: readonly (() => unknown)[]
  #stopping: Promise<void> | undefined

  private constructor(ports: ControlPlanePorts, closers: readonly (() => unknown)[]) {
    this.ports = ports
    this.#closers = closers
  }

  /** Resolves when proxies can connect. What was started is ended again where something fails. */
  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    const closers: (() => unknown)[] = []
    try {
      return new ControlPlane(await start(options, closers), closers)
    } catch (error) {
      await closeAll(closers)
      throw error
    }
  }

  /** In the opposite order of starting: whoever listens ends before what it tells of. */
  stop(): Promise<void> {
    this.#stopping ??= closeAll(this.#closers)
    return this.#stopping
  }
}

async function start(options: ControlPlaneOptions, closers: (() => unknown)[]): Promise<ControlPlanePorts> {
  const { client, mesh, clusterDomain, replica, hasCluster, logger } = options
  const { names } = mesh
  const { controlPlane } = componentNames(names)
  const warn = (message: string): void => logger.warn(message)
  const missing = new Set(["the cluster has not been read", "the mesh port is not open", "the webhooks are not open"])

  // Before anything that may take long: whoever waits for us is to know for what.
  const told: Told = {}
  const health = await openHealth(options, missing, told, closers)

  const tracing = await startTracing({
    service: `${names.mesh}-control`,
    instance: replica,
    ...(options.traces === undefined ? {} : { endpoint: options.traces }),
  })
  closers.push(() => tracing.stop())

  await patiently(logger, "the cluster's kinds", async () => {
    await ensureRootNamespace(client, names)
    await installDefinitions({ client, names, log: warn })
  })

  const election = new LeaderElection({
    client,
    namespace: names.rootNamespace,
    name: controlPlane,
    identity: `${hasCluster ? WITH_CLUSTER : ""}${replica}-${process.pid}-${Date.now().toString(36)}`,
    // A crash must not cost the local mesh a silent quarter of a minute.
    isOver: holder => hasCluster && holder.startsWith(WITH_CLUSTER),
    log: (message, error) => logger.warn({ error: messageOf(error) }, message),
  })
  const isLeader = (): boolean => election.isLeader
  election.start()
  closers.push(() => election.stop())

  const reflectors = startReflectors(client, names, (message, error) =>
    logger.warn({ error: messageOf(error) }, message),
  )
  closers.push(() => reflectors.stop())

  const authority = await Authority.start({
    client,
    mesh,
    secrets: reflectors.secrets,
    configMaps: reflectors.configMaps,
    ttl: {
      ...DEFAULT_TTL_LIMITS,
      defaultMs: options.certificates.defaultTtlMs,
      maxMs: options.certificates.maxTtlMs,
    },
    rootLifetimeMs: options.certificates.rootLifetimeMs,
    folder: options.certificates.folder,
    isLeader,
    clock: systemClock,
    random: Math.random,
    log: logger,
  })
  closers.push(() => authority.close())

  const metrics: ControlMetrics = new ControlMetrics(names.mesh, {
    connectedProxies: () => proxies.proxies.size,
    overdueProxies: () => propagation.overdue,
    isLeader,
    issuers: () => issuersOf(reflectors.policies.RequestAuthentication, knowledge.keySets, names),
    reflectors: () => reflectors.health(),
    authority: () => authority.facts,
    now: () => Date.now(),
  })
  told.metrics = metrics
  const events = new EventRecorder({ client, component: `${names.mesh}-control`, instance: replica, warn })
  closers.push(() => events.stop())

  const knowledge = await gatherKnowledge({
    client,
    mesh,
    clusterDomain,
    logger,
    reflectors,
    trust: authority,
    issuers: options.keySets,
    isLeader,
    tracer: tracing.tracer,
    onInvalid: (key, faults, kept) =>
      logger.error({ policy: key, fault: faults[0]?.message, kept }, "a stored policy cannot be read"),
    keysAttempted: (id, error) => {
      if (error === undefined) return
      logger.warn({ keySet: id, error }, "keys could not be fetched")
      metrics.keyFetchFailed(String(JSON.parse(id)[0] || JSON.parse(id)[1]))
    },
  })
  closers.push(() => knowledge.stop())
  const { registry, views, keySets, routes, persistence } = knowledge

  const versions = new InternedVersions()
  const proxies = new ConnectedProxies({ versions })
  const ledger = new CombinedLedger({
    own: proxies,
    reports: reflectors.reports,
    ownReport: `${names.rootNamespace}/${reportName(names, replica)}`,
    versions,
  })
  closers.push(() => ledger.stop())
  const reporter = new ReplicaReporter({
    client,
    names,
    replica,
    ledger: proxies,
    onError: error => logger.warn({ error: messageOf(error) }, "the report to the leader could not be written"),
  })
  closers.push(() => reporter.stop())
  const propagation = new Propagation({
    views,
    ledger: proxies,
    propagated: seconds => metrics.propagated(seconds),
    tracer: tracing.tracer,
  })
  closers.push(() => propagation.stop())
  told.proxies = { views, ledger, propagation }

  const presence = new DeclaredPresence({
    client,
    pods: reflectors.pods,
    names,
    replica,
    onError: (pod, error) =>
      logger.warn({ pod, error: messageOf(error) }, "a workload's readiness could not be written"),
  })
  closers.push(() => presence.stop())
  const sweep = setInterval(() => {
    if (!isLeader()) return
    presence.sweep(ledger)
    for (const key of ledger.abandoned) {
      const name = key.slice(key.indexOf("/") + 1)
      client.delete(CONFIG_MAPS, name, names.rootNamespace).catch((error: unknown) => {
        logger.warn(
          { report: name, error: messageOf(error) },
          "the report of a replica that is gone could not be deleted",
        )
      })
    }
  }, SWEEP_MS).unref()
  closers.push(() => clearInterval(sweep))

  authority.rotateWith(ledger, options.certificates.rotationSettleMs)
  authority.distributeTo({ namespaces: reflectors.namespaces, bundles: reflectors.bundles })
  const news = new AuthorityNews({ authority, events, isLeader, logger })
  closers.push(() => news.stop())

  const status = new StatusController({
    client,
    documents: reflectors.policies,
    ready: knowledge.complete,
    isLeader,
    events,
    warn,
    wrote: kind => metrics.statusWritten(kind),
    mesh,
    clusterDomain,
    directory: registry,
    ledger,
    keySets,
    reach: views,
    clients: routes,
  })
  closers.push(() => status.stop())

  // Before the first view is complete a proxy would be told that it has no policies.
  await knowledge.complete
  missing.delete("the cluster has not been read")

  const distribution = new Distribution({
    mesh,
    directory: registry,
    trust: authority,
    views,
    proxies,
    routes,
    presence,
  })
  closers.push(() => distribution.stop())
  const serving = authority.serve("mesh", options.servingNames)
  const server = await MeshServer.start(
    meshServerOptions({ options, authority, serving, distribution, proxies, keySets, metrics, tracer: tracing.tracer }),
  )
  missing.delete("the mesh port is not open")
  closers.push(() => server.drain())
  serving.onChange(() => server.papersChanged())
  authority.onChange(() => {
    server.papersChanged()
    server.recheck(caller => distribution.refuse(caller))
  })

  const admission = await startAdmission({
    options,
    authority,
    reflectors,
    registry,
    metrics,
    isLeader,
    tracer: tracing.tracer,
  })
  missing.delete("the webhooks are not open")
  closers.push(() => admission.stop())

  const lead = (leading: boolean): void => {
    logger.info({ leading }, leading ? "leading: writing status and rotating" : "following another replica")
    status.leadershipChanged(leading)
    persistence.leadershipChanged()
    authority.leadershipChanged()
    if (leading) {
      admission.register()
      void reporter.stop()
    } else {
      reporter.start()
    }
  }
  closers.push(election.onChange(lead))
  lead(isLeader())

  closers.push(() => missing.add("stopping"))
  return {
    mesh: server.port,
    webhook: admission.port,
    health,
  }
}

/** What the health server tells of, as far as it is there. */
interface Told {
  metrics?: ControlMetrics
  proxies?: ProxyReportSources
}

async function openHealth(
  { listen }: ControlPlaneOptions,
  missing: ReadonlySet<string>,
  told: Told,
  closers: (() => unknown)[],
): Promise<number> {
  const server = healthServer({
    missing: () => [...missing],
    metrics: async () => {
      const { registry } = told.metrics ?? {}
      return { type: registry?.contentType ?? "text/plain", text: (await registry?.metrics()) ?? "" }
    },
    proxies: (after, limit) => (told.proxies === undefined ? [] : proxyReports(told.proxies, after, limit)),
  })
  server.listen({ host: listen.host, port: listen.healthPort })
  await once(server, "listening")
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port // a TCP server has one
}

async function closeAll(closers: readonly (() => unknown)[]): Promise<void> {
  for (const close of [...closers].reverse()) {
    // One that fails must not keep the others from ending.
    try {
      await close()
    } catch {}
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
