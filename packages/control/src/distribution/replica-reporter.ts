// SPDX-License-Identifier: Apache-2.0
// Writes this replica's report while another one leads: soon after a change, at most once a second, and periodically
// without a change as a heartbeat.

import type { MeshNames } from "@merlon/policy/mesh"
import { SerialQueue } from "@merlon/xds/runtime"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type Owners, ownedBy } from "../kubernetes/owner-reference.js"
import { CONFIG_MAPS, type KubernetesObject } from "../kubernetes/resource-type.js"
import { type Scheduler, SYSTEM_SCHEDULER } from "../snapshot/burst.js"
import type { ProxyLedger } from "./ledger.js"
import { encodeReport } from "./replica-report.js"

export const REPORT_FIELD = "report"

export function reportLabel({ domain }: MeshNames): string {
  return `${domain}/replica-report`
}

export function reportName({ mesh }: MeshNames, replica: string): string {
  return `${mesh}-replica-${replica}`
}

export interface ReplicaReporterOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  /** A DNS label, such as the Pod's name. */
  readonly replica: string
  readonly ledger: ProxyLedger
  /** Owners of a report, so that an abandoned report is garbage-collected with them. */
  readonly owners: Owners
  readonly onError: (error: unknown) => void
  readonly scheduler?: Scheduler
  /** Wall clock, in milliseconds. */
  readonly now?: () => number
}

const PACE_MS = 1_000
const RENEW_MS = 10_000
/** An API server accepts no ConfigMap above 1 MiB, and base64 needs a third more. */
const MAX_BYTES = 750_000

export class ReplicaReporter {
  readonly #options: ReplicaReporterOptions
  readonly #scheduler: Scheduler
  readonly #now: () => number
  #unfollow: (() => void) | undefined
  #timer: (() => void) | undefined
  #last = Number.NEGATIVE_INFINITY
  #renewed = 0
  #changed = false
  /** Runs one task at a time, so that the end of one report never deletes the next. */
  readonly #work = new SerialQueue()

  constructor(options: ReplicaReporterOptions) {
    this.#options = options
    this.#scheduler = options.scheduler ?? SYSTEM_SCHEDULER
    this.#now = options.now ?? Date.now
  }

  /** Call it when another replica leads. */
  start(): void {
    if (this.#unfollow !== undefined) return
    this.#unfollow = this.#options.ledger.onChange(() => this.#request())
    this.#request()
  }

  /** Call it when this replica becomes the leader or stops. Resolves once the report is deleted. */
  async stop(): Promise<void> {
    if (this.#unfollow === undefined) return
    this.#unfollow()
    this.#unfollow = undefined
    this.#timer?.()
    this.#timer = undefined
    this.#changed = false
    await this.#work.add(() => this.#remove())
  }

  #request(): void {
    if (this.#changed || this.#unfollow === undefined) return
    this.#changed = true
    this.#schedule(Math.max(0, this.#last + PACE_MS - this.#scheduler.now()))
  }

  #schedule(milliseconds: number): void {
    this.#timer?.()
    this.#timer = this.#scheduler.later(() => {
      this.#timer = undefined
      void this.#work.add(() => this.#write())
    }, milliseconds)
  }

  /** Never fails: errors are reported, and the next renewal writes again. */
  async #write(): Promise<void> {
    if (this.#unfollow === undefined) return
    this.#changed = false
    this.#last = this.#scheduler.now()
    let next = RENEW_MS
    try {
      await this.#put()
    } catch (error) {
      this.#options.onError(error)
      next = PACE_MS
    }
    if (this.#unfollow === undefined) return
    if (this.#changed) this.#schedule(Math.max(0, this.#last + PACE_MS - this.#scheduler.now()))
    else this.#schedule(next)
  }

  async #remove(): Promise<void> {
    const { client, names, replica, onError } = this.#options
    try {
      await client.delete(CONFIG_MAPS, reportName(names, replica), names.rootNamespace)
    } catch (error) {
      // The report expires anyway.
      onError(error)
    }
  }

  async #put(): Promise<void> {
    const { client, names, replica, ledger, owners } = this.#options
    this.#renewed = Math.max(this.#renewed + 1, this.#now())
    const bytes = encodeReport({ renewed: this.#renewed, proxies: ledger.proxies })
    if (bytes.length > MAX_BYTES) {
      throw new RangeError(`the report on ${ledger.proxies.size} proxies is too large; run more replicas`)
    }
    const name = reportName(names, replica)
    const binaryData = { [REPORT_FIELD]: bytes.toString("base64") }
    try {
      await client.patch(CONFIG_MAPS, name, { binaryData }, { namespace: names.rootNamespace, type: "merge" })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error
      const labels = { [reportLabel(names)]: replica }
      const metadata = { name, namespace: names.rootNamespace, labels, ...ownedBy(await owners()) }
      const report: KubernetesObject = { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData }
      await client.create(CONFIG_MAPS, report)
    }
  }
}
