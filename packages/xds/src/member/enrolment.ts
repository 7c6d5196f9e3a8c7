// SPDX-License-Identifier: Apache-2.0
// The workload's key and certificate over time: requested if there is none, renewed at half the lifetime or when the
// signing root changes, with retries. The key is generated here and never sent anywhere.

import { BACKDATE_MS, certificateFacts, makeSigningRequest, renewAt, signerOf } from "@merlon/identity"
import type { Log } from "../runtime/log.js"
import { messageOf } from "../runtime/log.js"
import type { WorkloadCredentials } from "./workload-credentials.js"

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/**
 * Minimum time between two certificates, whatever their dates: by the control plane's clock a certificate may be old on
 * arrival.
 */
const SHORTEST_LIFE_MS = 60_000
/** How often the time is checked, because timers do not notice when the clock is set. */
const LOOK_MS = 60_000

export interface EnrolmentOptions {
  readonly sign: (signingRequest: Uint8Array) => Promise<{ readonly certificateChain: string }>
  /** Puts new credentials to use; if this fails, the old ones stay in use. */
  readonly use: (credentials: WorkloadCredentials) => Promise<void>
  readonly logger: Pick<Log, "info" | "warn">
  readonly now?: () => number
  readonly random?: () => number
}

type Facts = ReturnType<typeof certificateFacts>

export class Enrolment {
  readonly #options: EnrolmentOptions
  readonly #now: () => number
  readonly #random: () => number
  #credentials: WorkloadCredentials | undefined
  /**
   * The facts of the last chain that was parsed. They are needed for every call, and parsing a certificate costs more
   * than a request.
   */
  #read: { readonly chain: string; readonly facts: Facts } | undefined
  #timer: NodeJS.Timeout | undefined
  /** When to renew, by the wall clock. Randomised once per certificate, so that workloads stay spread out. */
  #due = 0
  #renewing: Promise<void> | undefined
  #closed = false

  constructor(options: EnrolmentOptions, credentials: WorkloadCredentials | undefined) {
    this.#options = options
    this.#credentials = credentials
    this.#now = options.now ?? Date.now
    this.#random = options.random ?? Math.random
  }

  /** Undefined if there are none, or they have expired. */
  get credentials(): WorkloadCredentials | undefined {
    return this.#credentials !== undefined && this.#expiry(this.#credentials) > this.#now()
      ? this.#credentials
      : undefined
  }

  /** When the certificate expires, in milliseconds since the epoch. */
  get notAfter(): number | undefined {
    return this.#credentials && this.#expiry(this.#credentials)
  }

  /** The root that the certificate chains to. */
  signer(trustBundle: string): string | undefined {
    return this.#credentials && signerOf(this.#credentials.certificateChain, trustBundle)
  }

  /** Resolves when there are credentials. */
  async start(): Promise<void> {
    if (this.credentials === undefined) await this.renew()
    else this.#await()
  }

  /** Resolves when the new credentials are in use, however long that takes, or when they are no longer needed. */
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
        return
      } catch (error) {
        const left =
          this.#credentials === undefined ? "none so far" : `the current one expires ${this.#ends(this.#credentials)}`
        const message = messageOf(error)
        this.#options.logger.warn({ error: message }, `cannot get a certificate (${left}); retrying`)
        await this.#pause(wait * (0.5 + this.#random() / 2))
      }
    }
  }

  async #renewOnce(): Promise<void> {
    const { privateKey, request } = makeSigningRequest()
    const { certificateChain } = await this.#options.sign(request)
    const credentials = { certificateChain, privateKey }
    this.#rejectWorse(credentials)
    await this.#options.use(credentials)
    this.#credentials = credentials
    this.#options.logger.info({ until: this.#ends(credentials) }, "got a certificate")
    this.#await(this.#leastWait(credentials))
  }

  /** If our clock or the control plane's is wrong, a valid certificate must not be replaced by an invalid one. */
  #rejectWorse(offered: WorkloadCredentials): void {
    if (this.#credentials === undefined || !this.#isCurrent(this.#credentials) || this.#isCurrent(offered)) return
    const { notBefore, notAfter } = this.#factsOf(offered)
    const [from, to, here] = [notBefore, notAfter, this.#now()].map(time => new Date(time).toISOString())
    throw new Error(
      `the offered certificate is valid from ${from} to ${to}, and the local time is ${here}; correct the wrong clock`,
    )
  }

  #await(least = 0): void {
    if (this.#credentials === undefined) return
    const facts = this.#factsOf(this.#credentials)
    // A certificate that is not valid yet, or has expired, is replaced as soon as possible, regardless of its dates.
    const due = this.#isCurrent(this.#credentials) ? renewAt(facts, this.#random) : 0
    this.#due = Math.max(due, this.#now() + least)
    this.#look(least)
  }

  #look(least: number): void {
    if (this.#closed) return
    const left = Math.max(this.#due - this.#now(), least)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => (this.#isDue() ? void this.renew() : this.#look(0)),
      Math.max(0, Math.min(left, LOOK_MS)),
    ).unref()
  }

  /** Also true if the clock was set back to before the certificate's start. */
  #isDue(): boolean {
    return this.#now() >= this.#due || this.#credentials === undefined || !this.#isCurrent(this.#credentials)
  }

  #isCurrent(credentials: WorkloadCredentials): boolean {
    const { notBefore, notAfter } = this.#factsOf(credentials)
    const now = this.#now()
    return notBefore <= now && now < notAfter
  }

  /**
   * If clocks differ by more than half a lifetime, each new certificate is due at once. It is requested again, but with
   * pauses.
   */
  #leastWait(credentials: WorkloadCredentials): number {
    const { notBefore, notAfter } = this.#factsOf(credentials)
    const life = notAfter - notBefore
    // Backdated time does not count: a quarter of it may be longer than the rest.
    return Math.min(SHORTEST_LIFE_MS, (life > BACKDATE_MS ? life - BACKDATE_MS : life) / 4)
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise(resolve => {
      this.#timer = setTimeout(resolve, milliseconds).unref()
    })
  }

  #expiry(credentials: WorkloadCredentials): number {
    return this.#factsOf(credentials).notAfter
  }

  #factsOf({ certificateChain: chain }: WorkloadCredentials): Facts {
    if (this.#read?.chain !== chain) this.#read = { chain, facts: certificateFacts(chain) }
    return this.#read.facts
  }

  #ends(credentials: WorkloadCredentials): string {
    return new Date(this.#expiry(credentials)).toISOString()
  }
}
