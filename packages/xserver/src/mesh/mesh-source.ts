// SPDX-License-Identifier: Apache-2.0
// Configurations from the control plane. A revision is acknowledged when it is enforced and refused as a whole where it
// cannot be; the control plane may go away at any time, and what is in force stays.

import { readFileSync, statSync } from "node:fs"
import {
  type Bootstrap,
  Enrolment,
  MeshClient,
  type MeshClientOptions,
  PROXY_RESOURCE,
  type WorkloadPapers,
} from "@merlon/xds"
import type { Logger } from "pino"
import type { ConfigurationSource, Sink } from "../process/source.js"
import { HeldResources, type Update } from "./held-resources.js"
import { type KeptState, keepState, keptState } from "./kept-state.js"

/** What was kept is enforced already: reading a gRPC library must not hold up the first requests. */
const BREATH_MS = 100

export interface MeshSourceOptions {
  readonly bootstrap: Bootstrap
  readonly logger: Logger
}

export class MeshSource implements ConfigurationSource {
  readonly #options: MeshSourceOptions
  readonly #client: MeshClient
  readonly #enrolment: Enrolment
  #sink: Sink | undefined
  #held: HeldResources
  #heldSince: number
  /** Changes of papers and of resources one after the other: each is made from what the one before left. */
  #changes: Promise<unknown> = Promise.resolve()
  #enforced: () => void = () => undefined
  #connecting: NodeJS.Timeout | undefined
  /** Until it has been asked, an application that is to be asked does not count as ready. */
  #applicationReady: boolean

  constructor(options: MeshSourceOptions) {
    const kept = restore(options)
    this.#options = options
    this.#applicationReady = options.bootstrap.probe === undefined
    this.#held = kept?.held ?? HeldResources.none
    // When it came, not when we started: the bundle may have changed in between, while nobody was here to be told.
    this.#heldSince = kept?.since ?? 0
    this.#client = new MeshClient(this.#clientOptions())
    this.#enrolment = new Enrolment(
      {
        sign: request => this.#client.signCertificate(request),
        use: papers => this.#change(() => this.#use(papers)),
        logger: options.logger,
      },
      kept?.papers,
    )
  }

  async start(sink: Sink): Promise<void> {
    const { logger } = this.#options
    this.#sink = sink
    const enforced = new Promise<void>(resolve => {
      this.#enforced = resolve
    })
    if (!this.#held.isEmpty) await this.#startFromKept()
    this.#client.onConnection((connected, why) => {
      if (connected) logger.info("connected to the control plane")
      else logger.warn({ why }, "the control plane is away; what is in force stays")
    })
    if (this.#held.isEmpty) this.#connect()
    else this.#connecting = setTimeout(() => this.#connect(), BREATH_MS)
    await enforced
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
    this.#client.sayAgain()
  }

  close(): void {
    this.#sink = undefined
    clearTimeout(this.#connecting)
    this.#enrolment.close()
    this.#client.close()
  }

  /** Without papers every handshake would fail, so they come before the first configuration. */
  #connect(): void {
    void this.#enrolment.start().then(() => {
      if (this.#sink !== undefined) this.#client.start()
    })
  }

  async #startFromKept(): Promise<void> {
    try {
      await this.#enforce(this.#held, this.#enrolment.papers)
      this.#options.logger.warn({ revision: this.#held.revision }, "enforcing the last good configuration")
    } catch (error) {
      this.#sink?.refused(error)
      this.#held = HeldResources.none
    }
  }

  #change<T>(make: () => Promise<T>): Promise<T> {
    const changed = this.#changes.then(make)
    this.#changes = changed.catch(() => undefined)
    return changed
  }

  async #take(update: Update): Promise<void> {
    try {
      const held = this.#held.with(update)
      await this.#enforce(held, this.#enrolment.papers)
      this.#held = held
      this.#heldSince = Date.now()
      this.#keep({ held, since: this.#heldSince, papers: this.#enrolment.papers })
    } catch (error) {
      this.#sink?.refused(error)
      throw error
    }
    const { trust } = this.#held
    if (trust !== undefined && this.#enrolment.signer(trust.bundle) !== trust.signer) void this.#enrolment.renew()
  }

  async #use(papers: WorkloadPapers): Promise<void> {
    if (!this.#held.isEmpty) await this.#enforce(this.#held, papers)
    this.#keep({ held: this.#held, since: this.#heldSince, papers })
  }

  async #enforce(held: HeldResources, papers: WorkloadPapers | undefined): Promise<void> {
    if (this.#sink === undefined) throw new Error("the proxy is stopping")
    await this.#sink.enforce(held.configuration(papers, this.#options.bootstrap))
    this.#enforced()
  }

  // A full disk makes a restart worse, not what is enforced.
  #keep(state: KeptState): void {
    const { bootstrap, logger } = this.#options
    if (bootstrap.state === undefined) return
    try {
      keepState(bootstrap.state, state)
    } catch (error) {
      logger.error({ error: messageOf(error) }, "the configuration in force could not be kept")
    }
  }

  #clientOptions(): MeshClientOptions {
    const { bootstrap, logger } = this.#options
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
          // Said only where it is no, so that nobody has to know of it.
          application: this.#applicationReady ? undefined : "not ready",
        }),
      },
      subscriptions: [
        {
          typeUrl: PROXY_RESOURCE,
          names: () => "*",
          known: () => this.#held.versions,
          apply: update => this.#change(() => this.#take(update)),
        },
      ],
      log: logger,
    }
  }

  #signer(): string | undefined {
    const { trust } = this.#held
    return trust && this.#enrolment.signer(trust.bundle)
  }

  /**
   * What the control plane last told us to trust counts, or a retired root would go on vouching for control planes. A
   * file that came after that is newer trust: it lets in a proxy that was away while the root changed.
   */
  #controlPlaneRoots(): string {
    const { trustBundle } = this.#options.bootstrap
    const { trust } = this.#held
    const written = statSync(trustBundle, { throwIfNoEntry: false })?.mtimeMs ?? 0
    const file = trust === undefined || written > this.#heldSince ? readFileSync(trustBundle, "utf8") : ""
    return `${trust?.bundle ?? ""}\n${file}`
  }

  #proof(): { token?: string; certificate?: { chain: string; privateKey: string } } {
    const { papers } = this.#enrolment
    return {
      ...tokenIn(this.#options.bootstrap.token),
      ...(papers && { certificate: { chain: papers.certificateChain, privateKey: papers.privateKey } }),
    }
  }
}

// A token that is not there yet, or no longer, is no reason to stop: the certificate may still do.
function tokenIn(path: string): { token?: string } {
  try {
    return { token: readFileSync(path, "utf8").trim() }
  } catch {
    return {}
  }
}

function restore({ bootstrap: { state }, logger }: MeshSourceOptions): KeptState | undefined {
  if (state === undefined) return undefined
  try {
    return keptState(state)
  } catch (error) {
    logger.error({ error: messageOf(error) }, "the state on disk cannot be used; starting anew")
    return undefined
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
