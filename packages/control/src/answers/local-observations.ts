// SPDX-License-Identifier: Apache-2.0
// Observations from the proxies that are connected to this replica.

import { createHash } from "node:crypto"
import { type ProxyReportSources, proxyReports } from "../observe/proxy-report.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import { readFilter, type Traits } from "./api/filters.js"
import { type Item, isIn, nameIn } from "./api/item.js"
import { wholeIn } from "./api/question.js"
import { callerNames, namesOf } from "./caller-names.js"
import { mergedDestinations, placedDestination } from "./destinations.js"
import type { ObservedDecisions, ObservedDestinations, ObservedProxies, ObservedTraffic } from "./observations.js"
import type { Observers, ProxyDecision } from "./observers.js"
import type { Traffic } from "./traffic.js"
import { WorkloadNames } from "./workload-names.js"

export interface LocalObservationsSources {
  readonly observers: Observers
  readonly directory: MeshDirectory
  /** State of the proxies that are connected here. */
  readonly proxies: ProxyReportSources
  readonly traffic: Pick<Traffic, "of">
  readonly now: () => number
}

const DEFAULT_LIMIT = 100
const MAX_DECISIONS = 5_000

export class LocalObservations {
  readonly #sources: LocalObservationsSources
  readonly #names: WorkloadNames

  constructor(sources: LocalObservationsSources) {
    this.#sources = sources
    this.#names = new WorkloadNames(sources.directory)
  }

  async decisions(namespace: string | undefined, query: URLSearchParams): Promise<ObservedDecisions> {
    const filter = readFilter(query)
    const limit = limitOf(query)
    const { decisions, asked, known } = await this.#sources.observers.recent(namespace, MAX_DECISIONS)
    const found = decisions.filter(decision => filter(this.#traits(decision)))
    const items = found.slice(0, limit).map(decisionItem)
    return { items, remaining: found.length - items.length, asked, known }
  }

  async decision(id: string, namespace: string | undefined): Promise<Item | undefined> {
    const found = await this.#sources.observers.find(id, namespace)
    return found && decisionItem(found)
  }

  /** Returns a function that stops following. */
  follow(
    namespace: string | undefined,
    query: URLSearchParams,
    decided: (items: readonly Item[], leftOut: number) => void,
  ): () => void {
    const filter = readFilter(query)
    return this.#sources.observers.follow({
      namespace,
      decided: (decisions, leftOut) =>
        decided(decisions.filter(decision => filter(this.#traits(decision))).map(decisionItem), leftOut),
    })
  }

  proxies(namespace: string | undefined): ObservedProxies {
    const { proxies } = this.#sources
    const reports = proxyReports(proxies, "", Number.MAX_SAFE_INTEGER).filter(({ key }) => isIn(key, namespace))
    return { reports, took: proxies.propagation.recent ?? [] }
  }

  /** What the workloads of the namespace called, or only the one that `workload` names in the query. */
  async destinations(namespace: string | undefined, query: URLSearchParams): Promise<ObservedDestinations> {
    const { observers, directory, now } = this.#sources
    const filter = readFilter(query)
    const { destinations, asked, known } = await observers.destinations(
      proxy => isIn(proxy, namespace) && filter({ ...NO_TRAITS, workload: namesOf(proxy, this.#names.of(proxy)) }),
    )
    const registered = { names: this.#names, directory, now: now() }
    const placed = destinations.map(({ proxy, called }) => placedDestination(proxy, called, registered))
    return { destinations: mergedDestinations(placed), asked, known }
  }

  traffic(namespace: string | undefined): ObservedTraffic {
    return { minutes: this.#sources.traffic.of(namespace) }
  }

  #traits(decision: ProxyDecision): Traits {
    const { workload, verdict, peer, source, rule, path } = decision
    return {
      verdict: [verdict],
      workload: namesOf(workload, this.#names.of(workload)),
      caller: [...callerNames(peer), source],
      policy: [rule, rule?.replace(/\[\d+\]$/, "")],
      path: [path],
    }
  }
}

const NO_TRAITS: Traits = { verdict: [], workload: [], caller: [], policy: [], path: [] }

export function limitOf(query: URLSearchParams): number {
  return wholeIn(query, "limit", DEFAULT_LIMIT, MAX_DECISIONS)
}

function decisionItem({ workload, explanation, ...decision }: ProxyDecision): Item {
  const { namespace } = nameIn(workload)
  const name = decision.id ?? digestOf(`${workload} ${decision.time} ${decision.method} ${decision.path}`)
  return {
    metadata: { name, namespace, creationTimestamp: decision.time },
    spec: { workload, ...decision, ...(explanation === undefined ? {} : { explanation: jsonIn(explanation) }) },
  }
}

export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 20)

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
