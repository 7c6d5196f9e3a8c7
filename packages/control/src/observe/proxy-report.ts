// SPDX-License-Identifier: Apache-2.0
// A report on every proxy with its revision and lag, for operators.

import type { CallHandling, ProxyLedger } from "../distribution/ledger.js"
import type { ProxyViews } from "../snapshot/proxy-views.js"
import { oneLine } from "./one-line.js"
import { missingResources, type Propagation } from "./propagation.js"

export interface ProxyReport {
  /** `namespace/name` of the workload. */
  readonly key: string
  readonly connectedAt: string
  /** The revision to enforce. */
  readonly revision: number | undefined
  readonly resources: number
  /** Resources that it does not enforce in their current version, and for how long. */
  readonly behind: number
  readonly lagMs: number
  readonly rejection: string | undefined
  readonly version: string | undefined
  /** When its certificate expires. */
  readonly certificateNotAfter: string | undefined
  /** How it handles outbound calls of the workload; undefined if it handles none or is too old to report that. */
  readonly calls?: CallHandling | undefined
}

export interface ProxyReportSources {
  readonly views: Pick<ProxyViews, "get">
  readonly ledger: Pick<ProxyLedger, "proxies">
  readonly propagation: Pick<Propagation, "lagOf"> & Partial<Pick<Propagation, "recent">>
}

/** Reports after the given key, sorted by key. */
export function proxyReports(
  { views, ledger, propagation }: ProxyReportSources,
  after: string,
  limit: number,
): readonly ProxyReport[] {
  const keys = [...ledger.proxies.keys()].filter(key => key > after).sort()
  return keys.slice(0, limit).flatMap(key => {
    const record = ledger.proxies.get(key)
    if (record === undefined) return []
    const view = views.get(key)
    return [
      {
        key,
        connectedAt: new Date(record.connectedAt).toISOString(),
        revision: view?.revision,
        resources: view?.resources.size ?? 0,
        behind: view === undefined ? 0 : missingResources(record, view),
        lagMs: Math.round(propagation.lagOf(key)),
        rejection: record.rejection === undefined ? undefined : oneLine(record.rejection.message),
        version: record.version,
        certificateNotAfter:
          record.certificateNotAfter === undefined ? undefined : new Date(record.certificateNotAfter).toISOString(),
        calls: record.calls,
      },
    ]
  })
}
