// SPDX-License-Identifier: Apache-2.0
// Observations from the proxies of all replicas: our own, and the answers of the others. Replicas that do not answer
// within a short timeout are named.

import { type ProxyReport, type ProxyReportSources, proxyReports } from "../observe/proxy-report.js"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import type { FromOthers, OtherReplicas } from "../replicas/other-replicas.js"
import { readFilter } from "./api/filters.js"
import { type Item, isIn } from "./api/item.js"
import { mergedDestinations, readDestinations } from "./destinations.js"
import { type LocalObservations, limitOf } from "./local-observations.js"
import type {
  Merged,
  ObservationFollower,
  ObservedDecisions,
  ObservedDestinations,
  ObservedProxies,
  ObservedTraffic,
} from "./observations.js"
import { OBSERVATION_PATHS, observationQuery } from "./observations-server.js"
import type { TrafficMinute } from "./traffic.js"

export interface MeshObservationsSources {
  readonly own: LocalObservations
  readonly others: Pick<OtherReplicas, "ask" | "first" | "follow">
  /**
   * What other replicas have stored about their proxies. It may be out of date: used only for replicas that do not
   * answer.
   */
  readonly reported: ProxyReportSources
}

export class MeshObservations {
  readonly #sources: MeshObservationsSources

  constructor(sources: MeshObservationsSources) {
    this.#sources = sources
  }

  async decisions(namespace: string | undefined, query: URLSearchParams): Promise<Merged<ObservedDecisions>> {
    const limit = limitOf(query)
    // Rejects an invalid filter here, before other replicas are asked.
    readFilter(query)
    const [own, { answers, silent }] = await Promise.all([
      this.#sources.own.decisions(namespace, query),
      this.#ask(OBSERVATION_PATHS.decisions, namespace, query),
    ])
    const parts = [own, ...answers.map(readDecisions)]
    const all = parts.flatMap(({ items }) => items).sort(newestFirst)
    const items = all.slice(0, limit)
    const sum = (of: (part: ObservedDecisions) => number): number => parts.reduce((total, part) => total + of(part), 0)
    return {
      items,
      remaining: sum(({ remaining }) => remaining) + all.length - items.length,
      asked: sum(({ asked }) => asked),
      known: sum(({ known }) => known),
      silent,
    }
  }

  /** Returns the decision from the first replica or proxy that has it. */
  async decision(
    id: string,
    namespace: string | undefined,
  ): Promise<{ readonly found: Item | undefined; readonly silent: readonly string[] }> {
    const { own, others } = this.#sources
    const theirs = others
      .first(OBSERVATION_PATHS.decision, observationQuery(namespace, new URLSearchParams({ id })))
      .then(({ found, silent }) => ({ found: itemIn(found), silent }))
    const ours = own.decision(id, namespace).then(found => ({ found, silent: [] }))
    const both = Promise.all([ours, theirs])
    // A proxy that hangs delays only the lookup of decisions that no other proxy has.
    const found = await Promise.race([having(ours), having(theirs), both.then(() => undefined)])
    return found ?? (await both.then(([mine, other]) => (mine.found === undefined ? other : mine)))
  }

  /** Returns a function that stops following. */
  follow(namespace: string | undefined, query: URLSearchParams, follower: ObservationFollower): () => void {
    const { own, others } = this.#sources
    const stopOwn = own.follow(namespace, query, (items, leftOut) => follower.decided(items, leftOut))
    const stopOthers = others.follow(OBSERVATION_PATHS.follow, observationQuery(namespace, query), {
      onLine: line => {
        const { items, leftOut } = objectOf(line)
        const read = itemsIn(items)
        const more = wholeOf(leftOut)
        if (read.length > 0 || more > 0) follower.decided(read, more)
      },
      silent: names => follower.silent(names),
    })
    return () => {
      stopOwn()
      stopOthers()
    }
  }

  async proxies(namespace: string | undefined): Promise<Merged<ObservedProxies>> {
    const { own, reported } = this.#sources
    const { answers, silent } = await this.#ask(OBSERVATION_PATHS.proxies, namespace)
    const parts = [own.proxies(namespace), ...answers.map(readProxies)]
    const latest = new Map<string, ProxyReport>()
    for (const report of parts.flatMap(({ reports }) => reports)) {
      const known = latest.get(report.key)
      // The proxy moved from one replica to the other, and the one that it left may not have noticed.
      if (known === undefined || known.connectedAt < report.connectedAt) latest.set(report.key, report)
    }
    if (silent.length > 0) {
      for (const report of proxyReports(reported, "", Number.MAX_SAFE_INTEGER)) {
        if (isIn(report.key, namespace) && !latest.has(report.key)) latest.set(report.key, report)
      }
    }
    const reports = [...latest.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    return { reports, took: parts.flatMap(({ took }) => took), silent }
  }

  async destinations(namespace: string | undefined, query: URLSearchParams): Promise<Merged<ObservedDestinations>> {
    readFilter(query)
    const [own, { answers, silent }] = await Promise.all([
      this.#sources.own.destinations(namespace, query),
      this.#ask(OBSERVATION_PATHS.destinations, namespace, query),
    ])
    const parts = [own, ...answers.map(readCalled)]
    return {
      destinations: mergedDestinations(parts.flatMap(({ destinations }) => destinations)),
      asked: parts.reduce((sum, { asked }) => sum + asked, 0),
      known: parts.reduce((sum, { known }) => sum + known, 0),
      silent,
    }
  }

  async traffic(namespace: string | undefined): Promise<Merged<ObservedTraffic>> {
    const { answers, silent } = await this.#ask(OBSERVATION_PATHS.traffic, namespace)
    const sums = new Map<string, TrafficMinute>()
    for (const { minutes } of [this.#sources.own.traffic(namespace), ...answers.map(readTraffic)]) {
      for (const { time, allowed, denied } of minutes) {
        const known = sums.get(time) ?? { time, allowed: 0, denied: 0 }
        sums.set(time, { time, allowed: known.allowed + allowed, denied: known.denied + denied })
      }
    }
    return { minutes: [...sums.values()].sort((a, b) => (a.time < b.time ? -1 : 1)), silent }
  }

  #ask(path: string, namespace: string | undefined, query = new URLSearchParams()): Promise<FromOthers> {
    return this.#sources.others.ask(path, observationQuery(namespace, query))
  }
}

/** Resolves once the answer contains a result; never resolves if there is none. */
function having<T extends { readonly found: unknown }>(asked: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    asked.then(answer => (answer.found === undefined ? undefined : resolve(answer)), reject)
  })
}

function newestFirst(a: Item, b: Item): number {
  return (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? "")
}

// A replica of another version may send more fields, or fewer: entries that this version cannot read are left out.

function readDecisions(answer: unknown): ObservedDecisions {
  const { items, remaining, asked, known } = objectOf(answer)
  return { items: itemsIn(items), remaining: wholeOf(remaining), asked: wholeOf(asked), known: wholeOf(known) }
}

function readProxies(answer: unknown): ObservedProxies {
  const { reports, took } = objectOf(answer)
  return {
    reports: listOf(reports).flatMap(report => {
      const { key, connectedAt, ...rest } = objectOf(report)
      const [named, since] = [textOf(key), textOf(connectedAt)]
      if (named === undefined || since === undefined) return []
      return [{ ...(rest as Omit<ProxyReport, "key" | "connectedAt">), key: named, connectedAt: since }] // from a replica
    }),
    took: listOf(took).filter(one => typeof one === "number"),
  }
}

function readCalled(answer: unknown): ObservedDestinations {
  const { destinations, asked, known } = objectOf(answer)
  return { destinations: readDestinations(destinations), asked: wholeOf(asked), known: wholeOf(known) }
}

function readTraffic(answer: unknown): ObservedTraffic {
  const minutes = listOf(objectOf(answer).minutes).map(objectOf)
  return {
    // A replica of the previous version writes `refused`.
    minutes: minutes.flatMap(({ time, allowed, refused, denied = refused }) => {
      const began = textOf(time)
      return began === undefined ? [] : [{ time: began, allowed: wholeOf(allowed), denied: wholeOf(denied) }]
    }),
  }
}

function itemsIn(value: unknown): readonly Item[] {
  return listOf(value).flatMap(one => itemIn(one) ?? [])
}

function itemIn(value: unknown): Item | undefined {
  const { metadata, spec } = objectOf(value)
  const { name, namespace, creationTimestamp } = objectOf(metadata)
  const [named, of, created] = [textOf(name), textOf(namespace), textOf(creationTimestamp)]
  if (named === undefined || of === undefined) return undefined
  const stamp = created === undefined ? {} : { creationTimestamp: created }
  return { metadata: { name: named, namespace: of, ...stamp }, spec: objectOf(spec) }
}

function wholeOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
