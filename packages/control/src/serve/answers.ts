// SPDX-License-Identifier: Apache-2.0
// Wires the answers: proxies report, the ledger stores, replicas query each other, and the API answers. The leader
// registers the API in the cluster and keeps it registered.

import { messageOf } from "@merlon/xds/runtime"
import type { Caller } from "@merlon/xds/server"
import { AnswersApi } from "../answers/api/answers-api.js"
import { HistoryAnswers } from "../answers/api/history-answers.js"
import { ObservedAnswers } from "../answers/api/observed-answers.js"
import { ProvedAnswers } from "../answers/api/proved-answers.js"
import { FRONT_PROXY, type FrontProxy, readFrontProxy } from "../answers/api/remote-user.js"
import { CallLedger } from "../answers/call-ledger.js"
import { LocalObservations } from "../answers/local-observations.js"
import { MeshObservations } from "../answers/mesh-observations.js"
import { Observers } from "../answers/observers.js"
import type { HistoryStore } from "../history/history-store.js"
import { componentNames } from "../install/component-names.js"
import { lastKnownRoleAsOwner } from "../kubernetes/owner-reference.js"
import type { ProxyReportSources } from "../observe/proxy-report.js"
import type { ControlPlaneOptions } from "../options.js"
import type { PolicySource } from "../policies/stored-policy.js"
import type { Prover } from "../proofs/prover.js"
import type { Registry } from "../registry/registry.js"
import type { Closers } from "./closers.js"
import type { Reflectors } from "./reflectors.js"
import type { Replicas } from "./replicas.js"

export interface AnswersParts {
  readonly options: ControlPlaneOptions
  readonly reflectors: Reflectors
  readonly policies: PolicySource
  readonly registry: Registry
  readonly prover: Prover
  /** Proxies that are connected here, and those that the other replicas report. */
  readonly proxies: ProxyReportSources
  readonly reported: ProxyReportSources
  readonly others: Replicas["others"]
  readonly history: HistoryStore
  readonly mayReportFor: (caller: Caller, nodeId: string) => boolean
}

export interface Answers {
  readonly observers: Observers
  readonly own: LocalObservations
  readonly seen: ObservedAnswers
  readonly api: AnswersApi
  readonly frontProxy: () => FrontProxy | undefined
}

export function keepAnswers(parts: AnswersParts, closers: Closers): Answers {
  const {
    options,
    reflectors,
    policies,
    registry: directory,
    prover,
    proxies,
    reported,
    others,
    history: store,
    mayReportFor,
  } = parts
  const { client, mesh, logger } = options
  const warn = (message: string, error: unknown): void => logger.warn({ error: messageOf(error) }, message)
  const stored = reflectors.calls
  const owners = lastKnownRoleAsOwner(client, componentNames(mesh.names).controlPlane)
  const ledger = new CallLedger({ client, names: mesh.names, stored, owners, warn })
  closers.add(() => ledger.stop())
  const now = Date.now
  const { rootNamespace } = mesh.names
  const takesCalls = (proxy: string): boolean => proxies.ledger.proxies.get(proxy)?.calls !== undefined
  const observers = new Observers({ ledger, policies, directory, mayReportFor, takesCalls, rootNamespace, now })
  const own = new LocalObservations({ observers, directory, proxies, traffic: ledger.traffic, now })
  const observations = new MeshObservations({ own, others, reported })
  const { version } = options
  const sources = { mesh, ledger, observations, policies, directory, stored, proxies: reported.ledger, now, version }
  const seen = new ObservedAnswers(sources)
  const namespaces = (): readonly string[] => [...reflectors.namespaces.items.keys()]
  const history = new HistoryAnswers({ client, names: mesh.names, store, namespaces, now })
  const proved = new ProvedAnswers({ mesh, directory, prover, calls: () => ledger.calls(), history })
  const frontProxy = frontProxyOf(reflectors)
  const api = new AnswersApi({
    client,
    names: mesh.names,
    frontProxy,
    seen,
    proved,
    history,
    log: warn,
  })
  closers.add(() => api.close())
  return { observers, own, seen, api, frontProxy }
}

/** Reads the ConfigMap once per version. */
function frontProxyOf({ frontProxy }: Reflectors): () => FrontProxy | undefined {
  let known: { readonly version: string | undefined; readonly front: FrontProxy | undefined } | undefined
  return () => {
    const object = frontProxy.items.get(`${FRONT_PROXY.namespace}/${FRONT_PROXY.name}`)
    const version = object?.metadata.resourceVersion
    if (known === undefined || known.version !== version) known = { version, front: readFrontProxy(object?.data) }
    return known.front
  }
}
