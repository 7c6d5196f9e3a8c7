// SPDX-License-Identifier: Apache-2.0
// The workload's key and certificate over time: asked for when there is none, renewed at half its life or when another
// root signs, and asked for again and again where that fails. The key is made here and never leaves.

import { BACKDATE_MS, certificateFacts, makeSigningRequest, renewAt, signerOf } from "@merlon/identity"
import type { Log } from "../log.js"
import { messageOf } from "../log.js"
import type { WorkloadCredentials } from "./workload-credentials.js"

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/** Between two certificates, whatever their dates say: by the control plane's clock they may be old when they come. */
const SHORTEST_LIFE_MS = 60_000
/** Timers of Node hold less than 25 days. */
const LONGEST_WAIT_MS = 24 * 3_600_000

export interface EnrolmentOptions {
  readonly sign: (signingRequest: Uint8Array) => Promise<{ readonly certificateChain: string }>
  /** Has them used; what was used before stays where this fails. */
  readonly use: (credentials: WorkloadCredentials) => Promise<void>
  readonly logger: Pick<Log, "info" | "warn">
  readonly now?: () => number
  readonly random?: () => number
}

export class Enrolment {
  readonly #options: EnrolmentOptions
  readonly #now: () => number
  readonly #random: () => number
  #credentials: WorkloadCredentials | undefined
  #timer: NodeJS.Timeout | undefined
  #renewing: Promise<void> | undefined
  #closed = false

  constructor(options: EnrolmentOptions, credentials: WorkloadCredentials | undefined) {
    this.#options = options
    this.#credentials = credentials
    this.#now = options.now ?? Date.now
    this.#random = options.random ?? Math.random
  }

  /** Undefined where there is none that is still good. */
  get credentials(): WorkloadCredentials | undefined {
    return this.#credentials !== undefined && this.#expiry(this.#credentials) > this.#now()
      ? this.#credentials
      : undefined
  }

  /** When the certificate ends, in milliseconds since the epoch. */
  get notAfter(): number | undefined {
    return this.#credentials && this.#expiry(this.#credentials)
  }

  /** The root the certificate comes from. */
  signer(trustBundle: string): string | undefined {
    return this.#credentials && signerOf(this.#credentials.certificateChain, trustBundle)
  }

  /** Resolves when there are credentials. */
  async start(): Promise<void> {
    if (this.credentials === undefined) await this.renew()
    else this.#schedule()
  }

  /** Resolves when the new ones are used, however long that takes, or nobody wants them any more. */
  renew(): Promise<void> {
    this.#renewing ??= this.#keepTrying().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #keepTrying(): Promise<void> {
    clearTimeout(this.#timer)
    for (let wait = FIRST_RETRY_MS; !this.#closed; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        await this.#renewOnce()
        this.#schedule(this.#leastWait())
        return
      } catch (error) {
        const left =
          this.#credentials === undefined ? "there is none" : `the one we have ends ${this.#ends(this.#credentials)}`
        const message = messageOf(error)
        this.#options.logger.warn({ error: message }, `no certificate could be had; ${left}`)
        await this.#pause(wait * (0.5 + this.#random() / 2))
      }
    }
  }

  async #renewOnce(): Promise<void> {
    const { privateKey, request } = makeSigningRequest()
    const { certificateChain } = await this.#options.sign(request)
    const credentials = { certificateChain, privateKey }
    await this.#options.use(credentials)
    this.#credentials = credentials
    this.#options.logger.info({ until: this.#ends(credentials) }, "holding a certificate")
  }

  #schedule(least = 0): void {
    if (this.#closed || this.#credentials === undefined) return
    const due = renewAt(certificateFacts(this.#credentials.certificateChain), this.#random) - this.#now()
    const wait = Math.max(due, least)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => (wait > LONGEST_WAIT_MS ? this.#schedule() : void this.renew()),
      Math.min(wait, LONGEST_WAIT_MS),
    ).unref()
  }

  /** Where clocks differ by more than half a life, each new certificate is due at once: asked for again, but not without end. */
  #leastWait(): number {
    const { notBefore, notAfter } = certificateFacts(this.#credentials?.certificateChain ?? "")
    const life = notAfter - notBefore
    // What lies before its making is no life: a quarter of it may be longer than all that is left.
    return Math.min(SHORTEST_LIFE_MS, (life > BACKDATE_MS ? life - BACKDATE_MS : life) / 4)
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise(resolve => {
      this.#timer = setTimeout(resolve, milliseconds).unref()
    })
  }

  #expiry({ certificateChain }: WorkloadCredentials): number {
    return certificateFacts(certificateChain).notAfter
  }

  #ends(credentials: WorkloadCredentials): string {
    return new Date(this.#expiry(credentials)).toISOString()
  }
}
