// SPDX-License-Identifier: Apache-2.0
// A proxy's client for its control plane: keeps a delta stream open while it runs, and makes unary calls. The xDS code
// is loaded on demand, so that a proxy can serve from its last good state before that.

import { Emitter } from "../runtime/emitter.js"
import { messageOf, SILENT } from "../runtime/log.js"
import { SerialQueue } from "../runtime/serial-queue.js"
import { Backoff } from "./backoff.js"
import type { CertificateAnswer } from "./calls.js"
import type { DeltaStream, StreamEnd } from "./delta-stream.js"
import { LastSession } from "./last-session.js"
import type { ObservationStream } from "./observation-stream.js"
import { type ClientLimits, DEFAULT_CLIENT_LIMITS, type MeshClientOptions } from "./options.js"

/** Retry interval for observations: a control plane that lacks the stream may be replaced by one that has it. */
const UNKNOWN_RETRY_MS = 10 * 60_000

type ConnectionListener = (connected: boolean, why?: string) => void

export class MeshClient {
  readonly #options: MeshClientOptions
  readonly #limits: ClientLimits
  readonly #session: LastSession
  /**
   * One lane per type, kept across connections: an update of an old stream is applied or rejected before a new stream
   * reports what is held.
   */
  readonly #queues: ReadonlyMap<string, SerialQueue>
  readonly #listeners = new Emitter<Parameters<ConnectionListener>>(error =>
    this.#options.log?.error({ error: messageOf(error) }, "a listener of the connection failed"),
  )
  readonly #backoff: Backoff
  #stream: DeltaStream | undefined
  #observing: ObservationStream | undefined
  /** No observation stream is opened before this time. */
  #observingFrom = 0
  #connected = false
  #isUnreachable = false
  #running = false
  #closed = false
  #idle = false
  /** The client itself closed the stream, to reopen it at once. */
  #reopening = false
  #wakeUp: () => void = () => {}

  constructor(options: MeshClientOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_CLIENT_LIMITS, ...options.limits }
    this.#session = options.session ?? new LastSession()
    this.#queues = new Map(options.subscriptions.map(({ typeUrl }) => [typeUrl, new SerialQueue()]))
    this.#backoff = new Backoff(this.#limits, options.random ?? Math.random)
  }

  get connected(): boolean {
    return this.#connected
  }

  /** Whether the last attempt to reach the control plane failed. False until the first attempt has ended. */
  get isUnreachable(): boolean {
    return this.#isUnreachable
  }

  start(): void {
    if (this.#running || this.#closed || this.#options.subscriptions.length === 0) return
    this.#running = true
    void this.#run()
  }

  close(): void {
    this.#closed = true
    this.#stream?.close("closed")
    this.#wakeUp()
  }

  /** Call this when the names of a subscription have changed. */
  resubscribe(typeUrl: string): void {
    this.#stream?.resubscribe(typeUrl)
    if (this.#idle) this.#wakeUp()
  }

  /**
   * Call this when the node's metadata has changed: it is sent with a new stream, which does not request resources
   * again.
   */
  refreshMetadata(): void {
    // Without a stream, the next one sends the new metadata anyway.
    if (this.#stream === undefined) return
    this.#reopening = true
    this.#stream.close("the stream has new metadata")
  }

  /** Returns a function that removes the listener. */
  onConnection(listener: ConnectionListener): () => void {
    return this.#listeners.on(listener)
  }

  /** Rejects with the control plane's reason. */
  async signCertificate(request: Uint8Array, ttlSeconds = 0): Promise<CertificateAnswer> {
    const { signOnce } = await import("./calls.js")
    return signOnce(this.#channelOptions(), { request, ttlSeconds, nodeId: this.#options.node.id })
  }

  /** Reports key sets that lack a key that some token named. */
  async report(unknownKeys: readonly string[]): Promise<void> {
    const { reportOnce } = await import("./calls.js")
    return reportOnce(this.#channelOptions(), { unknownKeys, nodeId: this.#options.node.id })
  }

  async #run(): Promise<void> {
    const { log = SILENT, now = Date.now, address } = this.#options
    while (!this.#closed) {
      if (!this.#wantsAnything()) {
        await this.#idleUntilWoken()
        continue
      }
      const startedAt = now()
      const { why, rejected } = await this.#attempt()
      if (this.#reopening && !this.#closed) {
        this.#reopening = false
        continue
      }
      const answered = this.#connected
      this.#isUnreachable = true
      this.#notify(false, why)
      if (this.#closed) return
      if (answered && now() - startedAt >= this.#limits.stableAfterMs) this.#backoff.reset()
      // If the control plane had admitted this client before, a newer certificate may be available already.
      const pause = this.#backoff.next({ rejected: rejected && !answered })
      if (rejected) log.error({ address, why }, "the control plane rejects this proxy")
      else log.warn({ address, why, retryMs: Math.round(pause) }, "not connected to the control plane")
      await this.#sleep(pause)
    }
  }

  async #attempt(): Promise<StreamEnd> {
    try {
      const { DeltaStream } = await import("./delta-stream.js")
      if (this.#closed) return { why: "closed", rejected: false }
      const { node, subscriptions } = this.#options
      const stream = new DeltaStream({
        ...this.#channelOptions(),
        node,
        subscriptions,
        queues: this.#queues,
        onAnswer: () => {
          this.#isUnreachable = false
          this.#notify(true)
          void this.#observe(stream)
        },
      })
      this.#stream = stream
      // A pause only applied to the connection that is gone.
      this.#observingFrom = 0
      return await stream.ended
    } catch (error) {
      // A bundle or credentials that cannot be used now may be valid at the next attempt.
      return { why: messageOf(error), rejected: false }
    } finally {
      this.#stream = undefined
      this.#observing?.close()
      this.#observing = undefined
    }
  }

  /** Opens the observation stream on the connection of a stream that has been answered. */
  async #observe(stream: DeltaStream): Promise<void> {
    const { observations, node, log = SILENT, now = Date.now } = this.#options
    if (observations === undefined || this.#observing !== undefined || now() < this.#observingFrom) return
    // Prevents concurrent calls from opening a second stream meanwhile.
    this.#observingFrom = Number.POSITIVE_INFINITY
    try {
      const { ObservationStream } = await import("./observation-stream.js")
      if (this.#stream !== stream) return
      this.#observing = new ObservationStream({
        channel: stream.channel,
        nodeId: node.id,
        source: observations,
        log,
        onEnd: again => {
          this.#observing = undefined
          this.#observeAgain(stream, again ? this.#limits.longestRetryMs : UNKNOWN_RETRY_MS)
        },
      })
    } catch (error) {
      log.warn({ error: messageOf(error) }, "observations cannot be reported")
    } finally {
      this.#observingFrom = 0
    }
  }

  #observeAgain(stream: DeltaStream, pause: number): void {
    const { now = Date.now } = this.#options
    this.#observingFrom = now() + pause
    setTimeout(() => {
      if (this.#stream === stream) void this.#observe(stream)
    }, pause).unref()
  }

  /** Whether any names are subscribed. The control plane would close a stream without subscriptions. */
  #wantsAnything(): boolean {
    try {
      return this.#options.subscriptions.some(({ names }) => names().length > 0)
    } catch {
      // The attempt will fail the same way, and report it.
      return true
    }
  }

  async #idleUntilWoken(): Promise<void> {
    this.#idle = true
    await new Promise<void>(resolve => {
      this.#wakeUp = resolve
    })
    this.#idle = false
  }

  #channelOptions() {
    const { address, serverName, trustBundle, proof, log = SILENT } = this.#options
    return { address, serverName, trustBundle, proof, log, limits: this.#limits, session: this.#session }
  }

  #notify(connected: boolean, why?: string): void {
    if (this.#connected === connected) return
    this.#connected = connected
    this.#listeners.emit(connected, why)
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, milliseconds)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
