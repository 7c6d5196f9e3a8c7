// SPDX-License-Identifier: Apache-2.0
// The proxies of all replicas: our own and those that the others report. If a proxy has two records, the later
// connection counts. A report that is not renewed stops counting, because its writer and proxies may be gone. Since the
// replica may also be running but unreachable, the ledger is incomplete until that report is renewed or removed.

import { isDeepStrictEqual } from "node:util"
import { Emitter } from "@merlon/xds/runtime"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { objectOf } from "../registry/foreign.js"
import { Burst, type Scheduler, SYSTEM_SCHEDULER } from "../snapshot/burst.js"
import type { InternedVersions } from "./interned-versions.js"
import type { ProxyLedger, ProxyRecord } from "./ledger.js"
import { decodeReport, type ReplicaReport } from "./replica-report.js"
import { REPORT_FIELD } from "./replica-reporter.js"

export interface CombinedLedgerOptions {
  readonly own: ProxyLedger
  /** ConfigMaps of the root namespace with the label of reports. */
  readonly reports: Reflected<KubernetesObject>
  /** `namespace/name` of our own report, which an earlier run may have left. */
  readonly ownReport: string
  readonly versions: InternedVersions
  readonly scheduler?: Scheduler
}

interface Received {
  readonly report: ReplicaReport
  /**
   * By our own clock: clocks of other replicas may be wrong, but a changed report shows that its replica is running.
   */
  readonly at: number
}

const STALE_MS = 30_000
/** By then a running replica has renewed its report, or was restarted under another name. */
const ABANDONED_MS = 10 * 60_000

export class CombinedLedger implements ProxyLedger {
  readonly #options: CombinedLedgerOptions
  readonly #scheduler: Scheduler
  readonly #burst: Burst
  readonly #received = new Map<string, Received>()
  /** Reports that exist but are unreadable or no longer renewed, and since when. */
  readonly #silent = new Map<string, number>()
  readonly #proxies = new Map<string, ProxyRecord>()
  readonly #changed = new Set<string>()
  readonly #changes = new Emitter<[keys: ReadonlySet<string>]>()
  readonly #stops: readonly (() => void)[]
  #timer: (() => void) | undefined

  constructor(options: CombinedLedgerOptions) {
    this.#options = options
    this.#scheduler = options.scheduler ?? SYSTEM_SCHEDULER
    this.#burst = new Burst(() => this.#notify(), this.#scheduler)
    this.#stops = [
      options.own.onChange(keys => this.#revise(keys)),
      options.reports.onChange(({ key, object }) => this.#receive(key, object)),
    ]
    for (const [key, object] of options.reports.items) this.#receive(key, object)
    this.#revise(options.own.proxies.keys())
  }

  get proxies(): ReadonlyMap<string, ProxyRecord> {
    return this.#proxies
  }

  get complete(): boolean {
    return this.#silent.size === 0
  }

  /** `namespace/name` of reports that no replica renews any more. The leader deletes them. */
  get abandoned(): readonly string[] {
    const before = this.#scheduler.now() - ABANDONED_MS
    return [...this.#silent].filter(([, since]) => since <= before).map(([key]) => key)
  }

  onChange(listener: (keys: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  stop(): void {
    for (const stop of this.#stops) stop()
    this.#timer?.()
    this.#burst.stop()
  }

  #receive(key: string, object: KubernetesObject | undefined): void {
    if (key === this.#options.ownReport) return
    const before = this.#received.get(key)
    const report = object && this.#read(object)
    if (report !== undefined && report.renewed === before?.report.renewed) return
    if (report === undefined) this.#received.delete(key)
    else this.#received.set(key, { report, at: this.#scheduler.now() })
    if (object === undefined || report !== undefined) this.#silent.delete(key)
    else if (!this.#silent.has(key)) this.#silent.set(key, this.#scheduler.now())
    this.#revise([...(before?.report.proxies.keys() ?? []), ...(report?.proxies.keys() ?? [])])
    this.#watchStale()
  }

  #read(object: KubernetesObject): ReplicaReport | undefined {
    const data = objectOf(object.binaryData)[REPORT_FIELD]
    return typeof data === "string" ? decodeReport(Buffer.from(data, "base64"), this.#options.versions) : undefined
  }

  #watchStale(): void {
    this.#timer?.()
    this.#timer = undefined
    const oldest = Math.min(...[...this.#received.values()].map(({ at }) => at))
    if (!Number.isFinite(oldest)) return
    this.#timer = this.#scheduler.later(() => this.#dropStale(), oldest + STALE_MS - this.#scheduler.now())
  }

  #dropStale(): void {
    this.#timer = undefined
    for (const [key, { report, at }] of [...this.#received]) {
      if (this.#scheduler.now() - at < STALE_MS) continue
      this.#received.delete(key)
      this.#silent.set(key, this.#scheduler.now())
      this.#revise(report.proxies.keys())
    }
    this.#watchStale()
  }

  #revise(keys: Iterable<string>): void {
    for (const key of keys) {
      const own = this.#options.own.proxies.get(key)
      let latest = own
      for (const { report } of this.#received.values()) {
        const record = report.proxies.get(key)
        if (record !== undefined && record.connectedAt > (latest?.connectedAt ?? -1)) latest = record
      }
      const before = this.#proxies.get(key)
      // A renewed report without changes has equal but new records; our own record is replaced only if it differs.
      if (latest === before || (latest !== own && isDeepStrictEqual(latest, before))) continue
      if (latest === undefined) this.#proxies.delete(key)
      else this.#proxies.set(key, latest)
      this.#changed.add(key)
    }
    if (this.#changed.size > 0) this.#burst.request()
  }

  #notify(): void {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    this.#changes.emit(changed)
  }
}
