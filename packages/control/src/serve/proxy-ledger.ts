// SPDX-License-Identifier: Apache-2.0
// Wires everything that proxies report: reports of this replica and of the others, the propagation delay of changes,
// and the status of workloads without a kubelet.

import { messageOf } from "@merlon/xds/runtime"
import { CombinedLedger } from "../distribution/combined-ledger.js"
import { ConnectedProxies } from "../distribution/connected-proxies.js"
import { InternedVersions } from "../distribution/interned-versions.js"
import { DeclaredPresence } from "../distribution/presence.js"
import { ReplicaReporter, reportName } from "../distribution/replica-reporter.js"
import { componentNames } from "../install/component-names.js"
import { lastKnownRoleAsOwner } from "../kubernetes/owner-reference.js"
import { CONFIG_MAPS } from "../kubernetes/resource-type.js"
import { Propagation } from "../observe/propagation.js"
import type { ControlTracer } from "../observe/tracer.js"
import type { ControlPlaneOptions } from "../options.js"
import type { ProxyViews } from "../snapshot/proxy-views.js"
import type { Closers } from "./closers.js"
import type { Reflectors } from "./reflectors.js"

export interface LedgerParts {
  readonly options: ControlPlaneOptions
  readonly reflectors: Reflectors
  readonly views: ProxyViews
  readonly isLeader: () => boolean
  readonly tracer: ControlTracer
  readonly propagated: (seconds: number) => void
}

export interface Ledger {
  readonly proxies: ConnectedProxies
  readonly combined: CombinedLedger
  readonly reporter: ReplicaReporter
  readonly propagation: Propagation
  readonly presence: DeclaredPresence
}

const SWEEP_MS = 5_000

export function keepLedger(parts: LedgerParts, closers: Closers): Ledger {
  const { options, reflectors, views, isLeader, tracer, propagated } = parts
  const { client, mesh, replica, logger } = options
  const { names } = mesh
  const proxies = new ConnectedProxies()
  const combined = new CombinedLedger({
    own: proxies,
    reports: reflectors.reports,
    ownReport: `${names.rootNamespace}/${reportName(names, replica)}`,
    versions: new InternedVersions(),
  })
  closers.add(() => combined.stop())
  const reporter = new ReplicaReporter({
    client,
    names,
    replica,
    ledger: proxies,
    owners: lastKnownRoleAsOwner(client, componentNames(names).controlPlane),
    onError: error => logger.warn({ error: messageOf(error) }, "the report to the leader could not be written"),
  })
  closers.add(() => reporter.stop())
  const propagation = new Propagation({ views, ledger: proxies, propagated, tracer })
  closers.add(() => propagation.stop())
  const presence = new DeclaredPresence({
    client,
    pods: reflectors.pods,
    names,
    replica,
    onError: (pod, error) =>
      logger.warn({ pod, error: messageOf(error) }, "a workload's readiness could not be written"),
  })
  closers.add(() => presence.stop())
  const timer = setInterval(() => {
    if (isLeader()) sweep(presence, combined, options)
  }, SWEEP_MS).unref()
  closers.add(() => clearInterval(timer))
  return { proxies, combined, reporter, propagation, presence }
}

/** Removes what a crashed replica has left behind. */
function sweep(
  presence: DeclaredPresence,
  ledger: CombinedLedger,
  { client, mesh, logger }: ControlPlaneOptions,
): void {
  presence.sweep(ledger)
  for (const key of ledger.abandoned) {
    const report = key.slice(key.indexOf("/") + 1)
    client.delete(CONFIG_MAPS, report, mesh.names.rootNamespace).catch((error: unknown) => {
      logger.warn({ report, error: messageOf(error) }, "the report of a replica that is gone could not be deleted")
    })
  }
}
