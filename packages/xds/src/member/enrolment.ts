// SPDX-License-Identifier: Apache-2.0
// The workload's key and certificate over time: asked for when there is none, renewed at half its life or when another
// root signs, and asked for again and again where that fails. The key is made here and never leaves.

import { BACKDATE_MS, certificateFacts, makeSigningRequest, renewAt, signerOf } from "@merlon/identity"
import type { Log } from "../log.js"
import type { WorkloadPapers } from "./workload-papers.js"

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/** Between two certificates, whatever their dates say: by the control plane's clock they may be old when they come. */
const SHORTEST_LIFE_MS = 60_000
/** Timers of Node hold less than 25 days. */
const LONGEST_WAIT_MS = 24 * 3_600_000

export interface EnrolmentOptions {
  readonly sign: (signingRequest: Uint8Array) => Promise<{ readonly certificateChain: string }>
  /** Has them used; what was used before stays where this fails. */
  readonly use: (papers: WorkloadPapers) => Promise<void>
  readonly logger: Pick<Log, "info" | "warn">
  readonly now?: () => number
  readonly random?: () => number
}

export class Enrolment {
  readonly #options: EnrolmentOptions
  readonly #now: () => number
  readonly #random: () => number
  #papers: WorkloadPapers | undefined
  #timer: NodeJS.Timeout | undefined
  #renewing: Promise<void> | undefined
  #closed = false

  constructor(options: EnrolmentOptions, papers: WorkloadPapers | undefined) {
    this.#options = options
    this.#papers = papers
    this.#now = options.now ?? Date.now
    this.#random = options.random ?? Math.random
  }

  /** Undefined where there is none that is still good. */
  get papers(): WorkloadPapers | undefined {
    return this.#papers !== undefined && this.#expiry(this.#papers) > this.#now() ? this.#papers : undefined
  }

  /** The root the certificate comes from. */
  signer(trustBundle: string): string | undefined {
    return this.#papers && signerOf(this.#papers.certificateChain, trustBundle)
  }

  /** Resolves when there are papers. */
  async start(): Promise<void> {
    if (this.papers === undefined) await this.renew()
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
        const left = this.#papers === undefined ? "there is none" : `the one we have ends ${this.#ends(this.#papers)}`
        const message = error instanceof Error ? error.message : String(error)
        this.#options.logger.warn({ error: message }, `no certificate could be had; ${left}`)
        await this.#pause(wait * (0.5 + this.#random() / 2))
      }
    }
  }

  async #renewOnce(): Promise<void> {
    const { privateKey, request } = makeSigningRequest()
    const { certificateChain } = await this.#options.sign(request)
    const papers = { certificateChain, privateKey }
    await this.#options.use(papers)
    this.#papers = papers
    this.#options.logger.info({ until: this.#ends(papers) }, "holding a certificate")
  }

  #schedule(least = 0): void {
    if (this.#closed || this.#papers === undefined) return
    const due = renewAt(certificateFacts(this.#papers.certificateChain), this.#random) - this.#now()
    const wait = Math.max(due, least)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => (wait > LONGEST_WAIT_MS ? this.#schedule() : void this.renew()),
      Math.min(wait, LONGEST_WAIT_MS),
    ).unref()
  }

  /** Where clocks differ by more than half a life, each new certificate is due at once: asked for again, but not without end. */
  #leastWait(): number {
    const { notBefore, notAfter } = certificateFacts(this.#papers?.certificateChain ?? "")
    const life = notAfter - notBefore
    // What lies before its making is no life: a quarter of it may be longer than all that is left.
    return Math.min(SHORTEST_LIFE_MS, (life > BACKDATE_MS ? life - BACKDATE_MS : life) / 4)
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise(resolve => {
      this.#timer = setTimeout(resolve, milliseconds).unref()
    })
  }

  #expiry({ certificateChain }: WorkloadPapers): number {
    return certificateFacts(certificateChain).notAfter
  }

  #ends(papers: WorkloadPapers): string {
    return new Date(this.#expiry(papers)).toISOString()
  }
}
