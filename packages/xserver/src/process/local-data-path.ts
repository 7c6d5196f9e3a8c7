// SPDX-License-Identifier: Apache-2.0
// The data path in this process: listeners, handlers and everything they share. Applying a configuration builds
// everything that can fail before it replaces anything; the replacement is a few assignments.

import { X509Certificate } from "node:crypto"
import type { Program } from "@merlon/policy/authorization"
import { TokenMemory } from "@merlon/policy/tokens"
import { Deadlines } from "@merlon/wire/http"
import { SerialQueue, standardOutput } from "@merlon/xds/runtime"
import { Connections } from "../accept/connections.js"
import { Listener } from "../accept/listener.js"
import { isOfMesh } from "../accept/peer-identity.js"
import { TransportSecurity } from "../accept/transport-security.js"
import type { GatewayTrust } from "../authorizer/gateway-trust.js"
import { questionHandlers } from "../authorizer/handlers.js"
import type { ApplicationPort } from "../config/application-port.js"
import { type Configuration, compileConfiguration } from "../config/configuration.js"
import { Gate } from "../enforcement/gate.js"
import { KeyReports } from "../enforcement/key-reports.js"
import type { Limits } from "../limits.js"
import { AccessLog, type AccessLogFormat } from "../observe/access-log.js"
import { CallCounter, type CallReport } from "../observe/call-counter.js"
import { type DecisionListener, DecisionTail } from "../observe/decision-tail.js"
import { type DecisionSummary, Decisions } from "../observe/decisions.js"
import type { Meters, RequestRecord } from "../observe/meters.js"
import { Metrics } from "../observe/metrics.js"
import { requestLine } from "../observe/request-line.js"
import { Providers } from "../providers/providers.js"
import { requestSpan } from "../trace/request-span.js"
import { type TraceOptions, Tracer } from "../trace/tracer.js"
import type { DataPath, MetricList } from "./data-path.js"
import { type HandlerServices, type Handling, handlersFor } from "./handlers.js"

export interface DataPathOptions {
  /**
   * Secret from which the keys of session tickets derive, in base64; passed if several processes need the same keys.
   */
  readonly ticketSecret?: string
  readonly mesh: string
  readonly limits: Limits
  readonly accessLog: AccessLogFormat
  /** If absent, no spans are collected. */
  readonly traces?: TraceOptions | undefined
  /** If set, requests are questions of gateways, which are answered and not forwarded. */
  readonly authorizer?: GatewayTrust | undefined
}

export class LocalDataPath implements DataPath {
  readonly #options: DataPathOptions
  readonly #now: () => number
  readonly #connections: Connections
  readonly #security: TransportSecurity
  readonly #memory = new TokenMemory()
  readonly #deadlines: Deadlines
  readonly #providers: Providers
  readonly #metrics: Metrics
  readonly #decisions = new Decisions()
  readonly #tail = new DecisionTail()
  #calls: CallCounter | undefined
  #tracer: Tracer<RequestRecord> | undefined
  readonly #accessLog: AccessLog<RequestRecord> | undefined
  readonly #listeners = new Map<string, { readonly listener: Listener; readonly handling: Handling }>()
  #gate: Gate | undefined
  /** The enforced configuration, for a rollback. */
  #inForce: { readonly configuration: Configuration; readonly program: Program } | undefined
  #unknownKeys: KeyReports | undefined
  #closed = false
  readonly #changes = new SerialQueue()

  /** `now` in seconds since the epoch. */
  constructor(options: DataPathOptions, now: () => number = () => Date.now() / 1_000) {
    this.#options = options
    this.#now = now
    this.#connections = new Connections(options.limits)
    const { ticketSecret } = options
    const secret = ticketSecret === undefined ? undefined : Buffer.from(ticketSecret, "base64")
    this.#security = new TransportSecurity(this.#connections, secret)
    this.#deadlines = new Deadlines(options.limits)
    this.#providers = new Providers(this.#deadlines)
    this.#metrics = new Metrics(options.mesh, {
      tokenHits: () => this.#memory.hits,
      tokenMisses: () => this.#memory.misses,
      unjudgedBytes: () => this.#connections.unjudged.used,
      ...(options.traces && { spans: () => this.#tracer }),
    })
    if (options.accessLog !== "off") {
      this.#accessLog = new AccessLog(requestLine(options.accessLog), standardOutput())
    }
  }

  /** The bound address of each application port, which differs from the configured one if that has port 0. */
  addresses(): readonly { readonly host: string; readonly port: number }[] {
    return [...this.#listeners.values()].map(({ listener }) => listener.address)
  }

  apply(configuration: Configuration): Promise<void> {
    // One after the other: two changes at once could combine the modes of one with the certificate of the other.
    return this.#changes
      .add(() => this.#apply(configuration))
      .catch((error: unknown) => {
        this.#metrics.configurationRejected()
        throw error
      })
  }

  onUnknownKeys(listener: (keySetIds: readonly string[]) => void): void {
    this.#unknownKeys = new KeyReports(listener)
  }

  metrics(): Promise<readonly MetricList[]> {
    return this.#metrics.registry.getMetricsAsJSON().then(metrics => [metrics])
  }

  async decisions(): Promise<readonly DecisionSummary[]> {
    return this.#decisions.list()
  }

  async decision(id: string): Promise<DecisionSummary | undefined> {
    return this.#decisions.find(id)
  }

  async takeCalls(): Promise<CallReport> {
    return this.#calls?.take() ?? { calls: [], forgotten: 0 }
  }

  async followDecisions(listener: DecisionListener | undefined): Promise<void> {
    this.#tail.follow(listener)
  }

  async startDraining(): Promise<void> {
    this.#connections.startDraining()
  }

  async drain(): Promise<void> {
    this.#closed = true
    await this.#changes.idle()
    for (const { listener } of this.#listeners.values()) listener.stopAccepting()
    this.#connections.drainAll()
    const end = Date.now() + this.#options.limits.drainTimeoutMs
    while (this.#connections.size > 0 && Date.now() < end) await new Promise(resolve => setTimeout(resolve, 20))
    this.#connections.destroyAll()
    for (const { listener, handling } of this.#listeners.values()) {
      listener.destroy()
      handling.close()
    }
    this.#providers.close()
    this.#accessLog?.flush()
    await this.#tracer?.close()
  }

  async #apply(configuration: Configuration): Promise<void> {
    if (this.#closed) throw new Error("the data path is closed")
    const { policies, revision, tls, workload } = configuration
    const program = compileConfiguration(configuration)
    this.#tracer ??= this.#makeTracer(workload)
    const before = this.#inForce
    try {
      await this.#enforce(configuration, program)
    } catch (error) {
      // A port could not be opened, so everything is rolled back: policies and ports must be of the same configuration.
      if (before !== undefined) await this.#enforce(before.configuration, before.program)
      throw error
    }
    this.#inForce = { configuration, program }
    this.#calls ??= new CallCounter(`${workload.namespace}/${workload.name}`)
    const names = new Set(policies.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
    this.#metrics.configurationApplied(revision, names, tls && expiryOf(tls.certificateChain))
  }

  #makeTracer({ namespace, name }: Configuration["workload"]): Tracer<RequestRecord> | undefined {
    const { traces, mesh } = this.#options
    const source = { namespace, name, scope: `${mesh}-xserver`, version: traces?.version }
    return traces && new Tracer(traces, source, record => requestSpan(record, mesh))
  }

  async #enforce({ tls, revocations, ports, mesh }: Configuration, program: Program): Promise<void> {
    await this.#providers.use(mesh.providers)
    // Throws if the certificate cannot be used, and then keeps the current one.
    this.#security.swap(tls, revocations)
    this.#gate ??= this.#makeGate(program)
    this.#gate.swap(program)
    this.#connections.revokeWhere(({ peer }) => peer !== undefined && !isOfMesh(peer, program.mesh))
    for (const port of ports) {
      const open = this.#listeners.get(listenerKey(port))
      open?.listener.replace(port)
      open?.handling.replace(port)
    }
    await this.#connections.judgeAgain()
    for (const { listener } of this.#listeners.values()) listener.enforceMode()
    await this.#listen(ports, this.#gate)
  }

  #makeGate(program: Program): Gate {
    return new Gate(program, {
      memory: this.#memory,
      now: this.#now,
      onUnknownKeys: ids => this.#unknownKeys?.add(ids),
    })
  }

  async #listen(ports: readonly ApplicationPort[], gate: Gate): Promise<void> {
    const wanted = new Map(ports.map(port => [listenerKey(port), port]))
    for (const [key, { listener, handling }] of this.#listeners) {
      if (wanted.has(key)) continue
      listener.stopAccepting()
      listener.destroy()
      handling.close()
      this.#listeners.delete(key)
    }
    for (const [key, port] of wanted) {
      if (this.#listeners.has(key)) continue
      const meters = this.#meters(gate)
      const { limits, authorizer } = this.#options
      const connections = this.#connections
      const services = {
        gate,
        meters,
        limits,
        connections,
        deadlines: this.#deadlines,
        tracer: this.#tracer,
        providers: this.#providers,
      }
      const handling =
        authorizer === undefined
          ? handlersFor(port, services)
          : await answersFor(authorizer, services, () => this.#inForce?.configuration)
      const { handlers } = handling
      const listener = new Listener({ port, gate, security: this.#security, connections, handlers, limits, meters })
      await listener.listen()
      this.#listeners.set(key, { listener, handling })
    }
  }

  #meters(gate: Gate): Meters {
    const metrics = this.#metrics
    return {
      connectionOpened: port => metrics.connectionOpened(port),
      connectionClosed: port => metrics.connectionClosed(port),
      tlsFailed: failure => metrics.tlsFailed(failure),
      connectionRejected: record => this.#note(record, undefined),
      limitHit: limit => metrics.limitHit(limit),
      endedByChange: (protocol, stage) => metrics.endedByChange(protocol, stage),
      requestDone: record => this.#requestDone(record, gate),
    }
  }

  #requestDone(record: RequestRecord, gate: Gate): void {
    this.#metrics.requestDone(record, gate.program.peers.resolve(record.port).mode)
    this.#note(record, record.judgement && gate.deniedBy(record.judgement))
  }

  #note(record: RequestRecord, program: Program | undefined): void {
    const kept = this.#decisions.add(record, program)
    this.#calls?.count(record, kept.time)
    if (this.#tail.followed) this.#tail.add(() => kept.describe(false))
    this.#accessLog?.write(record)
  }
}

/** Only another listen address, or another application port, needs a new listener. */
function listenerKey({ listen, port }: ApplicationPort): string {
  return JSON.stringify([listen.host, listen.port, port])
}

function expiryOf(certificateChain: string): number {
  return Date.parse(new X509Certificate(certificateChain).validTo) / 1_000
}

/** Envoy's messages are loaded on demand: proxies do not need them. */
async function answersFor(
  trust: GatewayTrust,
  services: HandlerServices,
  searched: () => Configuration | undefined,
): Promise<Handling> {
  return questionHandlers(trust, services, await import("@merlon/xds/authz"), searched)
}
