// SPDX-License-Identifier: Apache-2.0
// One xserver from start to end: receives configurations from its source, has them enforced, keeps the last good one,
// reports readiness, and drains on shutdown.

import { once } from "node:events"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { canShareReads } from "@merlon/wire"
import type { ApplicationProbe } from "@merlon/xds/member"
import { bindHost, messageOf, SerialQueue } from "@merlon/xds/runtime"
import type { Logger } from "pino"
import { AggregatorRegistry } from "prom-client"
import { adminServer, type LogLevel } from "../admin/admin-server.js"
import { healthServer } from "../admin/health-server.js"
import type { Configuration } from "../config/configuration.js"
import { ApplicationWatch } from "./application-watch.js"
import type { DataPath, MetricList } from "./data-path.js"
import type { ConfigurationSource } from "./source.js"

export interface Address {
  readonly host: string
  readonly port: number
}

export interface XserverOptions {
  readonly source: ConfigurationSource
  readonly admin: Address
  readonly health: Address
  readonly logger: Logger
  /** If absent, the application counts as ready. */
  readonly probe?: { readonly question: ApplicationProbe; readonly host: string } | undefined
  /** Further metrics, of the calls that the workload makes. */
  readonly otherMetrics?: () => Promise<MetricList>
  /** Called with the first configuration, because metrics contain the mesh name. */
  readonly makeDataPath: (mesh: string) => DataPath
}

type Phase = "starting" | "enforcing" | "draining"

export class Xserver {
  readonly #options: XserverOptions
  readonly #servers: Server[] = []
  #path: DataPath | undefined
  #inForce: Configuration | undefined
  #phase: Phase = "starting"
  #draining = false
  readonly #changes = new SerialQueue()
  readonly #application: ApplicationWatch | undefined

  constructor(options: XserverOptions) {
    this.#options = options
    const { probe, source, logger } = options
    this.#application =
      probe &&
      new ApplicationWatch(probe.question, probe.host, why => {
        if (why === undefined) logger.info("the application is ready")
        else logger.warn({ why }, "the application is not ready")
        source.applicationReady(why === undefined)
      })
  }

  /** Resolves when a configuration is enforced. Rejects if there will be none. */
  async start(): Promise<void> {
    try {
      await this.#serveOperations()
      if (!this.#servers.every(canShareReads)) {
        const { version } = process
        this.#options.logger.warn(
          { version },
          "this Node.js version has no shared read buffer; reading by events, which is slower",
        )
      }
      this.#application?.start()
      await this.#options.source.start({
        enforce: configuration => this.#enforce(configuration),
        rejected: error => this.#rejected(error),
      })
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Ports of the admin and health servers, in this order. */
  get ports(): readonly number[] {
    return this.#servers.map(server => (server.address() as AddressInfo | null)?.port ?? 0) // they are TCP servers
  }

  reload(): void {
    if (this.#phase !== "draining") this.#options.source.reload()
  }

  /**
   * The Pod terminates, but its application still serves: every response tells the caller to connect elsewhere. Stays
   * ready, because a Service whose endpoints all terminate still sends callers to those that are ready.
   */
  async startDraining(): Promise<void> {
    this.#options.logger.info("draining: callers are asked to use other endpoints")
    this.#draining = true
    await this.#path?.startDraining()
  }

  /** Becomes unready, accepts no new connections, waits for requests in flight, and exits. */
  async stop(): Promise<void> {
    this.#phase = "draining"
    this.#application?.stop()
    this.#options.source.close()
    await this.#changes.idle()
    await this.#path?.drain()
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  #enforce(configuration: Configuration): Promise<void> {
    return this.#changes.add(() => this.#apply(configuration))
  }

  async #apply(configuration: Configuration): Promise<void> {
    const { logger } = this.#options
    const path = this.#path ?? this.#makeDataPath(configuration.mesh.names.mesh)
    this.#path = path
    await path.apply(configuration)
    if (this.#draining) await path.startDraining()
    this.#inForce = configuration
    if (this.#phase === "starting") this.#phase = "enforcing"
    logger.info(
      { revision: configuration.revision, policies: configuration.policies.length },
      "enforcing configuration",
    )
  }

  #makeDataPath(mesh: string): DataPath {
    const path = this.#options.makeDataPath(mesh)
    path.onUnknownKeys(ids => this.#options.source.unknownKeys(ids))
    this.#options.source.observe(path)
    return path
  }

  #rejected(error: unknown): void {
    const kept = this.#inForce === undefined ? "none is in force" : `revision ${this.#inForce.revision} stays in force`
    this.#options.logger.error({ error: messageOf(error) }, `configuration rejected; ${kept}`)
  }

  async #serveOperations(): Promise<void> {
    const { admin, health, logger } = this.#options
    this.#servers.push(
      adminServer({
        configDump: () => this.#configDump(),
        decisions: {
          list: async () => (await this.#path?.decisions()) ?? [],
          find: async id => this.#path?.decision(id),
        },
        logLevel: () => logger.level,
        setLogLevel: (level: LogLevel) => {
          logger.level = level
        },
      }),
      healthServer({
        notReady: () => (this.#phase === "enforcing" ? this.#application?.notReady : this.#phase),
        metrics: () => this.#metrics(),
        application: () => this.#inForce?.ports[0]?.upstream,
        probe: path => {
          const probes = this.#inForce?.probes ?? {}
          return Object.hasOwn(probes, path) ? probes[path] : undefined
        },
      }),
    )
    for (const [index, { host, port }] of [admin, health].entries()) {
      const server = this.#servers[index]
      if (server === undefined) continue
      await once(server.listen({ host: bindHost(host), port }), "listening")
      // For example if the process is out of file descriptors: the client has to retry, and traffic continues.
      server.on("error", (error: unknown) => logger.warn({ error: messageOf(error) }, "a connection was not accepted"))
    }
  }

  async #metrics(): Promise<{ type: string; text: string }> {
    const lists = [...((await this.#path?.metrics()) ?? []), (await this.#options.otherMetrics?.()) ?? []]
    const registry = AggregatorRegistry.aggregate(lists)
    return { type: registry.contentType, text: await registry.metrics() }
  }

  // INVARIANT: the private key is not part of the dump.
  #configDump(): unknown {
    if (this.#inForce === undefined) return { phase: this.#phase }
    const { tls, ...configuration } = this.#inForce
    const shown = tls && { certificateChain: tls.certificateChain, trustBundle: tls.trustBundle }
    return { phase: this.#phase, configuration: { ...configuration, tls: shown } }
  }
}
