// SPDX-License-Identifier: Apache-2.0
// Configurations from the control plane. A revision is acknowledged when it is enforced, or rejected as a whole. If the
// control plane goes down, the enforced revision stays in effect.

import { readFileSync, statSync } from "node:fs"
import { PROXY_RESOURCE } from "@merlon/xds"
import {
  Enrolment,
  MeshClient,
  type MeshClientOptions,
  type Subscription,
  type WorkloadCredentials,
} from "@merlon/xds/client"
import type { Bootstrap } from "@merlon/xds/member"
import { messageOf, SerialQueue } from "@merlon/xds/runtime"
import type { Logger } from "pino"
import type { Configuration } from "../config/configuration.js"
import type { Observed } from "../observe/observed.js"
import { exposedPorts } from "../process/exposed-ports.js"
import type { ConfigurationSource, Sink } from "../process/source.js"
import { HeldResources, type Update } from "./held-resources.js"
import { Observations, type ReportedCalls } from "./observations.js"
import { savedCredentials, savedState } from "./saved-state.js"
import { StateSaver } from "./state-saver.js"

const EXPOSURE_MS = 10_000
/**
 * Delay before connecting when a kept state is enforced already: loading the gRPC library must not delay the first
 * requests.
 */
const CONNECT_DELAY_MS = 100

export interface MeshSourceOptions {
  readonly bootstrap: Bootstrap
  readonly logger: Logger
  /** The version of this program, for operators. */
  readonly version?: string
  /**
   * Whether to report ports on which the application accepts connections that bypass this proxy. In a Pod, connections
   * are captured.
   */
  readonly reportsExposure?: boolean
  /** Further subscriptions on the proxy's stream: the routes of the calls that the workload makes. */
  readonly subscriptions?: readonly Subscription[]
  /** The calls that the workload makes, if this proxy carries them. */
  readonly calls?: ReportedCalls | undefined
  /** Whether it answers questions of gateways instead of proxying for the workload. */
  readonly isAuthorizer?: boolean
}

export class MeshSource implements ConfigurationSource {
  readonly #options: MeshSourceOptions
  readonly #client: MeshClient
  readonly #enrolment: Enrolment
  readonly #saver: StateSaver | undefined
  readonly #observations: Observations
  #sink: Sink | undefined
  #held: HeldResources
  #heldSince: number
  /**
   * Runs changes of credentials and of resources one after the other, because each builds on the result of the previous
   * one.
   */
  readonly #changes = new SerialQueue()
  #enforced: () => void = () => undefined
  #connecting: NodeJS.Timeout | undefined
  /** A probed application does not count as ready until its first probe. */
  #applicationReady: boolean
  #ports: Configuration["ports"] = []
  #exposed = ""
  #exposure: NodeJS.Timeout | undefined

  constructor(options: MeshSourceOptions) {
    const { bootstrap, logger } = options
    const kept = restore(() => bootstrap.state && savedState(bootstrap.state), logger)
    const credentials = restore(() => bootstrap.state && savedCredentials(bootstrap.state), logger)
    this.#options = options
    this.#observations = new Observations({ destinations: () => options.calls?.destinations() ?? [] })
    this.#saver =
      bootstrap.state === undefined
        ? undefined
        : new StateSaver({ folder: bootstrap.state, logger, replaced: () => this.#client.refreshMetadata() })
    this.#applicationReady = bootstrap.probe === undefined
    this.#held = kept?.held ?? HeldResources.none
    // When the resources were received, not when this process started: the bundle may have changed in between, while we
    // were not connected.
    this.#heldSince = kept?.since ?? 0
    this.#client = new MeshClient(this.#clientOptions())
    this.#enrolment = new Enrolment(
      {
        sign: request => this.#client.signCertificate(request),
        use: credentials => this.#changes.add(() => this.#use(credentials)),
        logger,
      },
      credentials,
    )
  }

  async start(sink: Sink): Promise<void> {
    const { logger } = this.#options
    this.#sink = sink
    const enforced = new Promise<void>(resolve => {
      this.#enforced = resolve
    })
    if (!this.#held.isEmpty) await this.#startFromSaved()
    this.#client.onConnection((connected, why) => {
      if (connected) logger.info("connected to the control plane")
      else logger.warn({ why }, "disconnected from the control plane; the last policies stay enforced")
    })
    if (this.#held.isEmpty) this.#connect()
    else this.#connecting = setTimeout(() => this.#connect(), CONNECT_DELAY_MS)
    await enforced
  }

  get credentials(): WorkloadCredentials | undefined {
    return this.#enrolment.credentials
  }

  get isControlPlaneAway(): boolean {
    return this.#client.isUnreachable
  }

  /** Called by the owner of `subscriptions` when it needs other names. */
  resubscribe(typeUrl: string): void {
    this.#client.resubscribe(typeUrl)
  }

  reload(): void {
    void this.#enrolment.renew()
  }

  unknownKeys(ids: readonly string[]): void {
    this.#client.report(ids).catch((error: unknown) => {
      this.#options.logger.warn({ error: messageOf(error) }, "missing keys could not be reported")
    })
  }

  applicationReady(ready: boolean): void {
    if (this.#applicationReady === ready) return
    this.#applicationReady = ready
    this.#client.refreshMetadata()
  }

  observe(observed: Observed): void {
    this.#observations.observe(observed)
  }

  close(): void {
    this.#sink = undefined
    clearTimeout(this.#connecting)
    clearTimeout(this.#exposure)
    this.#saver?.close()
    this.#observations.close()
    this.#enrolment.close()
    this.#client.close()
  }

  /** Without credentials every handshake would fail, so they are obtained before the first configuration. */
  #connect(): void {
    void this.#enrolment.start().then(() => {
      if (this.#sink !== undefined) this.#client.start()
    })
  }

  async #startFromSaved(): Promise<void> {
    try {
      await this.#enforce(this.#held, this.#enrolment.credentials)
      void this.#lookForExposure()
      this.#options.logger.warn({ revision: this.#held.revision }, "enforcing the last good configuration")
    } catch (error) {
      this.#sink?.rejected(error)
      this.#held = HeldResources.none
    }
  }

  async #take(update: Update): Promise<void> {
    try {
      const held = this.#held.with(update)
      await this.#enforce(held, this.#enrolment.credentials)
      this.#held = held
      this.#heldSince = Date.now()
      this.#saver?.keep({ held, since: this.#heldSince, credentials: this.#enrolment.credentials })
    } catch (error) {
      this.#sink?.rejected(error)
      throw error
    }
    // Runs after everything is kept and before the acknowledgement, which makes the workload count as ready. A new
    // stream reports the result.
    await this.#lookForExposure()
    const { trust } = this.#held
    if (trust !== undefined && this.#enrolment.signer(trust.bundle) !== trust.signer) void this.#enrolment.renew()
  }

  async #use(credentials: WorkloadCredentials): Promise<void> {
    if (!this.#held.isEmpty) await this.#enforce(this.#held, credentials)
    void this.#lookForExposure()
    try {
      this.#saver?.keep({ held: this.#held, since: this.#heldSince, credentials })
    } catch (error) {
      // The certificate is in use; writing the state is retried.
      this.#options.logger.error({ error: messageOf(error) }, "an older configuration is still on disk")
    }
  }

  async #enforce(held: HeldResources, credentials: WorkloadCredentials | undefined): Promise<void> {
    if (this.#sink === undefined) throw new Error("the proxy is stopping")
    const configuration = held.configuration(credentials, this.#options.bootstrap)
    await this.#sink.enforce(configuration)
    this.#ports = configuration.ports
    this.#enforced()
  }

  /** Runs periodically, because an application may start to listen at any time. */
  async #lookForExposure(): Promise<void> {
    if (this.#options.reportsExposure !== true) return
    clearTimeout(this.#exposure)
    const exposed = (await exposedPorts(this.#ports)).join(",")
    if (this.#sink === undefined) return
    this.#exposure = setTimeout(() => void this.#lookForExposure(), EXPOSURE_MS).unref()
    if (exposed === this.#exposed) return
    this.#exposed = exposed
    if (exposed !== "") {
      this.#options.logger.warn(
        { ports: exposed },
        "the application also answers without going through this proxy; bind it to loopback",
      )
    }
    this.#client.refreshMetadata()
  }

  #clientOptions(): MeshClientOptions {
    const { bootstrap, logger, version } = this.#options
    const { namespace, name } = bootstrap.workload
    return {
      ...bootstrap.controlPlane,
      trustBundle: () => this.#controlPlaneRoots(),
      proof: () => this.#proof(),
      node: {
        id: `${namespace}/${name}`,
        metadata: () => ({
          address: bootstrap.address,
          signer: this.#signer(),
          version,
          certificateNotAfter: this.#enrolment.notAfter,
          // Sent only if the application is not ready, so that older peers need not know the field.
          application: this.#applicationReady ? undefined : "not ready",
          exposed: this.#exposed === "" ? undefined : this.#exposed,
          calls: this.#options.calls?.taken,
          enforcer: this.#options.isAuthorizer ? "authorizer" : undefined,
        }),
      },
      subscriptions: [
        {
          typeUrl: PROXY_RESOURCE,
          names: () => "*",
          known: () => this.#held.versions,
          apply: update => this.#changes.add(() => this.#take(update)),
        },
        ...(this.#options.subscriptions ?? []),
      ],
      observations: this.#observations,
      log: logger,
    }
  }

  #signer(): string | undefined {
    const { trust } = this.#held
    return trust && this.#enrolment.signer(trust.bundle)
  }

  /**
   * The trust bundle that the control plane sent last replaces the file, or a retired root could still authenticate a
   * control plane. A file that was written after that is newer: it helps a proxy that was offline while the root
   * changed.
   */
  #controlPlaneRoots(): string {
    const { trustBundle } = this.#options.bootstrap
    const { trust } = this.#held
    const written = statSync(trustBundle, { throwIfNoEntry: false })?.mtimeMs ?? 0
    const file = trust === undefined || written > this.#heldSince ? readFileSync(trustBundle, "utf8") : ""
    return `${trust?.bundle ?? ""}\n${file}`
  }

  #proof(): { token?: string; certificate?: { chain: string; privateKey: string } } {
    const { credentials } = this.#enrolment
    return {
      ...tokenIn(this.#options.bootstrap.token),
      ...(credentials && { certificate: { chain: credentials.certificateChain, privateKey: credentials.privateKey } }),
    }
  }
}

// A missing token is no reason to stop: the certificate may still be valid.
function tokenIn(path: string): { token?: string } {
  try {
    return { token: readFileSync(path, "utf8").trim() }
  } catch {
    return {}
  }
}

function restore<T>(read: () => T | "" | undefined, logger: Logger): T | undefined {
  try {
    return read() || undefined
  } catch (error) {
    logger.error({ error: messageOf(error) }, "the state on disk cannot be used; starting without it")
    return undefined
  }
}
