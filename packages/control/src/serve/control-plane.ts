// SPDX-License-Identifier: Apache-2.0
// Wires the control plane: cluster → copies → mesh state → streams, and acknowledgements → ledger → status. Everything
// is started and stopped here.

import { DEFAULT_TTL_LIMITS } from "@merlon/identity"
import { messageOf } from "@merlon/xds/runtime"
import { MeshServer } from "@merlon/xds/server"
import { meshMembers } from "../admission/mesh-members.js"
import { Authority } from "../authority/authority.js"
import { Distribution } from "../distribution/distribution.js"
import { installDefinitions } from "../install/install.js"
import { InvariantStatus } from "../invariants/invariant-status.js"
import { FreshRead } from "../kubernetes/fresh-read.js"
import { systemClock } from "../observe/clock.js"
import { ControlMetrics } from "../observe/metrics.js"
import { startTracing } from "../observe/traces.js"
import type { ControlPlaneOptions } from "../options.js"
import { unreadablePolicies } from "../policies/unreadable-policies.js"
import { Prover } from "../proofs/prover.js"
import { startThread } from "../proofs/start-thread.js"
import { EventRecorder } from "../status/events.js"
import { StatusController } from "../status/status-controller.js"
import { startAdmission } from "./admission.js"
import { keepAnswers } from "./answers.js"
import { AuthorityEvents } from "./authority-events.js"
import { ensureRootNamespace, retrying } from "./bootstrap.js"
import { Closers } from "./closers.js"
import { type HealthPortSources, openHealthPort } from "./health-port.js"
import { keepHistory } from "./history.js"
import { issuerOf, issuersOf } from "./issuers.js"
import { standForElection } from "./leadership.js"
import { meshServerOptions } from "./mesh-port.js"
import { startMeshState } from "./mesh-state.js"
import { keepLedger } from "./proxy-ledger.js"
import { type Reflectors, startReflectors } from "./reflectors.js"
import { keepReplicas } from "./replicas.js"

export interface ControlPlanePorts {
  readonly mesh: number
  readonly webhook: number
  readonly health: number
  /** The port for queries of other replicas. */
  readonly replicas: number
}

export class ControlPlane {
  readonly ports: ControlPlanePorts
  readonly #closers: Closers
  #stopping: Promise<void> | undefined

  private constructor(ports: ControlPlanePorts, closers: Closers) {
    this.ports = ports
    this.#closers = closers
  }

  /** Resolves once proxies can connect. On an error, everything that was started is stopped again. */
  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    const closers = new Closers()
    try {
      return new ControlPlane(await start(options, closers), closers)
    } catch (error) {
      await closers.closeAll()
      throw error
    }
  }

  /** In the reverse order of starting: listeners stop before the components that notify them. */
  stop(): Promise<void> {
    this.#stopping ??= this.#closers.closeAll()
    return this.#stopping
  }
}

async function start(options: ControlPlaneOptions, closers: Closers): Promise<ControlPlanePorts> {
  const { client, mesh, clusterDomain, replica, logger } = options
  const { names } = mesh
  const warn = (message: string): void => logger.warn(message)
  const missing = new Set(["the cluster has not been read", "the mesh port is not open", "the webhooks are not open"])
  const healthSources: HealthPortSources = {}
  const health = await openHealthPort(options, missing, healthSources, closers)

  const tracing = await startTracing({
    service: `${names.mesh}-control`,
    instance: replica,
    ...(options.traces === undefined ? {} : { endpoint: options.traces }),
  })
  closers.add(() => tracing.stop())
  const { tracer } = tracing

  await retrying(logger, "the cluster's kinds", async () => {
    await ensureRootNamespace(client, names)
    await installDefinitions({ client, names, log: warn })
  })

  const election = standForElection(options)
  closers.add(() => election.stop())
  const isLeader = (): boolean => election.isLeader

  const reflectors = startReflectors(client, names, (message, error) =>
    logger.warn({ error: messageOf(error) }, message),
  )
  closers.add(() => reflectors.stop())

  const authority = await startAuthority(options, reflectors, isLeader, missing, closers)
  closers.add(() => authority.close())

  const metrics: ControlMetrics = new ControlMetrics(names.mesh, {
    connectedProxies: () => ledger.proxies.proxies.size,
    overdueProxies: () => ledger.propagation.overdue,
    isLeader,
    issuers: () => issuersOf(state.keySets),
    unreadablePolicies: () => unreadablePolicies(state.policies.items.values()),
    reflectors: () => reflectors.health(),
    authority: () => authority.facts,
    now: () => Date.now(),
  })
  const events = new EventRecorder({ client, component: `${names.mesh}-control`, instance: replica, warn })
  closers.add(() => events.stop())

  const state = await startMeshState({
    client,
    mesh,
    outboundPolicy: options.outboundPolicy,
    clusterDomain,
    logger,
    reflectors,
    trust: authority,
    issuers: options.keySets,
    isLeader,
    tracer,
    onInvalid: ({ key, errors }, kept) =>
      logger.error({ policy: key, error: errors[0]?.message, kept }, "a stored policy cannot be read"),
    keysAttempted: (id, error) => {
      if (error === undefined) return
      logger.warn({ keySet: id, error }, "keys could not be fetched")
      metrics.keyFetchFailed(issuerOf(id))
    },
  })
  closers.add(() => state.stop())
  const { policies, registry, views, keySets, routes, persistence } = state

  const propagated = (seconds: number): void => metrics.propagated(seconds)
  const ledger = keepLedger({ options, reflectors, views, isLeader, tracer, propagated }, closers)
  const { proxies, combined, reporter, propagation, presence } = ledger
  healthSources.metrics = metrics
  healthSources.proxies = { views, ledger: combined, propagation }

  authority.rotateWith(combined, options.certificates.rotationSettleMs)
  authority.distributeTo({ namespaces: reflectors.namespaces, bundles: reflectors.bundles })
  const authorityEvents = new AuthorityEvents({ authority, events, isLeader, logger })
  closers.add(() => authorityEvents.stop())

  const status = new StatusController({
    client,
    policies,
    ready: state.complete,
    isLeader,
    events,
    warn,
    wrote: kind => metrics.statusWritten(kind),
    mesh,
    clusterDomain,
    directory: registry,
    ledger: combined,
    keySets,
    reach: views,
    clients: routes,
    members: meshMembers(reflectors.namespaces, names),
  })
  closers.add(() => status.stop())
  const prover = new Prover({
    mesh,
    budgetMs: options.proofBudgetMs,
    policies,
    directory: registry,
    start: ended => startThread({ mesh, ended }),
    observe: outcome => metrics.proved(outcome),
    warn,
  })
  closers.add(() => prover.stop())
  const history = await keepHistory({ options, policies, prover, namespaces: reflectors.namespaces }, closers)
  const invariants = new InvariantStatus({
    client,
    policies,
    directory: registry,
    prover,
    mesh,
    ready: state.complete,
    isLeader,
    warn,
  })
  closers.add(() => invariants.stop())

  // A proxy that connects before the first view is complete would be told that it has no policies.
  await state.complete
  missing.delete("the cluster has not been read")

  const trust = authority
  const fresh = new FreshRead(async () => {
    const { policies, pods, services } = reflectors
    await Promise.all([...Object.values(policies), pods, services].map(copy => copy.refresh()))
    views.settle()
  })
  const readAgain = (): Promise<void> => fresh.request()
  const distribution = new Distribution({
    mesh,
    directory: registry,
    trust,
    views,
    proxies,
    routes,
    presence,
    readAgain,
  })
  closers.add(() => distribution.stop())
  const replicas = keepReplicas({ options, authority, reflectors, isLeader }, closers)
  const answers = keepAnswers(
    {
      options,
      reflectors,
      policies,
      registry,
      prover,
      proxies: { views, ledger: proxies, propagation },
      reported: healthSources.proxies,
      others: replicas.others,
      history: history.store,
      mayReportFor: (caller, nodeId) => distribution.mayReportFor(caller, nodeId),
    },
    closers,
  )
  const serving = authority.serve("mesh", options.servingNames)
  const server = await MeshServer.start(
    meshServerOptions({
      options,
      authority,
      serving,
      distribution,
      proxies,
      keySets,
      metrics,
      tracer,
      observations: answers.observers,
    }),
  )
  missing.delete("the mesh port is not open")
  closers.add(() => server.drain())
  serving.onChange(() => server.credentialsChanged())
  authority.onChange(() => {
    server.credentialsChanged()
    server.recheck(caller => distribution.reject(caller))
  })

  await prover.ready()
  const admission = await startAdmission({
    options,
    authority,
    policies,
    prover,
    reflectors,
    registry,
    metrics,
    isLeader,
    tracer,
    answers,
    recorder: history.recorder,
  })
  missing.delete("the webhooks are not open")
  closers.add(() => admission.stop())

  const lead = (leading: boolean): void => {
    logger.info(
      { leading },
      leading ? "this replica is the leader: it writes statuses and rotates roots" : "another replica is the leader",
    )
    status.leadershipChanged(leading)
    invariants.leadershipChanged()
    persistence.leadershipChanged()
    authority.leadershipChanged()
    authorityEvents.leadershipChanged()
    if (leading) {
      admission.register()
      void reporter.stop()
    } else {
      reporter.start()
    }
  }
  closers.add(election.onChange(lead))
  lead(isLeader())

  const replicaPort = await replicas.answerFrom(answers.own)

  closers.add(() => missing.add("stopping"))
  return { mesh: server.port, webhook: admission.port, health, replicas: replicaPort }
}

function startAuthority(
  { client, mesh, certificates, logger }: ControlPlaneOptions,
  { secrets, configMaps }: Reflectors,
  isLeader: () => boolean,
  missing: Set<string>,
  closers: Closers,
): Promise<Authority> {
  const stopped = new AbortController()
  closers.add(() => stopped.abort())
  let waited: string | undefined
  const waiting = (what: string | undefined): void => {
    if (waited !== undefined) missing.delete(waited)
    if (what !== undefined) missing.add(what)
    waited = what
  }
  const { defaultTtlMs, maxTtlMs, rootLifetimeMs, folder } = certificates
  return Authority.start({
    client,
    mesh,
    secrets,
    configMaps,
    ttl: { ...DEFAULT_TTL_LIMITS, defaultMs: defaultTtlMs, maxMs: maxTtlMs },
    rootLifetimeMs,
    folder,
    isLeader,
    clock: systemClock,
    random: Math.random,
    waiting,
    stopped: stopped.signal,
    log: logger,
  })
}
