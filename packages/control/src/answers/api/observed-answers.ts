// SPDX-License-Identifier: Apache-2.0
// Answers from observations: calls, decisions, rule usage, proxies, readiness for mTLS. Lists are bounded and say when
// they are truncated.

import { callKey, type ObservedCall, ruleText, writeCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import { DocumentsByNamespace, type PolicyStep } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { isShadow } from "@merlon/policy/selection"
import type { ProxyLedger } from "../../distribution/ledger.js"
import type { Reflected } from "../../kubernetes/reflector.js"
import type { KubernetesObject } from "../../kubernetes/resource-type.js"
import { writtenAt } from "../../kubernetes/written-at.js"
import type { ProxyReport } from "../../observe/proxy-report.js"
import type { PolicySource } from "../../policies/stored-policy.js"
import { listOf } from "../../registry/foreign.js"
import type { MeshDirectory } from "../../registry/mesh-directory.js"
import type { CallLedger } from "../call-ledger.js"
import { callerNames, namesOf } from "../caller-names.js"
import { cutOff, cutOffWarnings } from "../cut-off.js"
import type { WorkloadDestination } from "../destinations.js"
import { KEEP_CALLS_MS } from "../ledger-shard.js"
import { digestOf } from "../local-observations.js"
import type { MeshObservations } from "../mesh-observations.js"
import type { ObservationFollower } from "../observations.js"
import { readinessOf, type WorkloadReadiness } from "../readiness.js"
import { rulesOf } from "../rule-digests.js"
import { WorkloadNames } from "../workload-names.js"
import {
  type NamedReport,
  type WorkloadReportSources,
  workloadReports,
  workloadReportsCalled,
} from "../workload-report.js"
import { badRequest, notFound } from "./answers-api-error.js"
import { readFilter, type Traits } from "./filters.js"
import { type Item, isIn, nameIn } from "./item.js"
import { type Question, spanIn, wholeIn } from "./question.js"

export interface ObservedSources {
  readonly mesh: MeshConfig
  readonly ledger: CallLedger
  readonly observations: MeshObservations
  readonly policies: PolicySource
  readonly directory: MeshDirectory
  /** ConfigMaps that store the ledger. */
  readonly stored: Reflected<KubernetesObject>
  /** Proxies of all replicas, as far as these have reported them. */
  readonly proxies: Pick<ProxyLedger, "proxies">
  readonly now: () => number
  /** Version of the control plane. */
  readonly version?: string | undefined
}

export interface Listed {
  readonly items: readonly Item[]
  /** Number of further entries. */
  readonly remaining: number
  /** Further facts about the list. */
  readonly notes: { readonly [name: string]: unknown }
}

const DEFAULT_LIMIT = 500
const MAX_LIMIT = 5_000
/** All calls in the ledger, because suggested policies must cover every observed call. */
const MAX_CALLS = 20_000
const DAY_MS = 86_400_000
const WINDOW_MS = 7 * DAY_MS
/** Calls are kept for no longer than this. */
const MAX_WINDOW_MS = KEEP_CALLS_MS

export class ObservedAnswers {
  readonly #sources: ObservedSources
  readonly #names: WorkloadNames

  constructor(sources: ObservedSources) {
    this.#sources = sources
    this.#names = new WorkloadNames(sources.directory)
  }

  list(question: Question): Promise<Listed> | Listed {
    switch (question.resource.name) {
      case "calls":
        return this.#calls(question)
      case "destinations":
        return this.#destinations(question)
      case "decisions":
        return this.#decisions(question)
      case "rules":
        return this.#rules(question)
      case "proxies":
        return this.#proxies(question)
      case "readiness":
        return this.#readiness(question)
      case "workloads":
        return this.#listWorkloads(question)
      default:
        throw badRequest(`\`${question.resource.name}\` does not support list`)
    }
  }

  async get(question: Question): Promise<Item> {
    const { resource, namespace, name = "" } = question
    if (resource.name === "decisions") {
      const { found, silent } = await this.#sources.observations.decision(name, namespace)
      if (found !== undefined) return found
      throw notFound(`no connected proxy has the decision \`${name}\` among its last thousand${silentText(silent)}`)
    }
    if (resource.name === "workloads") return this.#workload(name, namespace)
    const window = question.query.get("window")
    const query = new URLSearchParams({ limit: String(MAX_LIMIT), ...(window === null ? {} : { window }) })
    const { items, notes } = await this.list({ ...question, query })
    const item = items.find(({ metadata }) => metadata.name === name)
    if (item !== undefined) return item
    throw notFound(`no \`${name}\` found in ${resource.name}${silentText(listOf(notes.partial).map(String))}`)
  }

  /** Returns a function that stops following. */
  follow({ namespace, query }: Question, follower: ObservationFollower): () => void {
    return this.#sources.observations.follow(namespace, query, follower)
  }

  async #calls({ namespace, query }: Question): Promise<Listed> {
    const filter = readFilter(query)
    const span = spanIn(query, "since")
    const since = span === undefined ? 0 : this.#sources.now() - span
    const found = this.#sources.ledger
      .calls()
      .filter(call => isIn(call.workload, namespace) && call.lastSeen >= since && filter(traitsOf(call)))
      .sort((a, b) => b.lastSeen - a.lastSeen)
    const { minutes, silent } = await this.#sources.observations.traffic(namespace)
    const notes = { forgotten: this.#sources.ledger.forgotten, traffic: minutes, ...partial(silent) }
    return cut(found.map(callItem), query, notes, MAX_CALLS)
  }

  async #destinations({ namespace, query }: Question): Promise<Listed> {
    const { now, observations } = this.#sources
    const span = spanIn(query, "since")
    const since = span === undefined ? "" : new Date(now() - span).toISOString()
    const { destinations, asked, known, silent } = await observations.destinations(namespace, query)
    const items = destinations.filter(({ lastSeen }) => lastSeen >= since).map(destinationItem)
    return cut(items, query, { proxies: { asked, known }, ...partial(silent) })
  }

  async #decisions({ namespace, query }: Question): Promise<Listed> {
    const { items, remaining, asked, known, silent } = await this.#sources.observations.decisions(namespace, query)
    return { items, remaining, notes: { proxies: { asked, known }, ...partial(silent) } }
  }

  #rules({ namespace, query }: Question): Listed {
    const { now, ledger, policies, mesh } = this.#sources
    const unused = spanIn(query, "unusedFor")
    const uses = ledger.rules()
    const watched = this.#watchedSince()
    const items: Item[] = []
    for (const { inForce, object, deleted } of policies.items.values()) {
      if (inForce === undefined || deleted !== undefined || !isNamespace(inForce, namespace)) continue
      const since = Math.max(watched, writtenAt(object))
      for (const { policy, index, digest } of rulesOf(inForce)) {
        const use = uses.get(`${policy}#${digest}`)
        const last = use === undefined || use.count === 0 ? undefined : use.lastSeen
        if (unused !== undefined && (last ?? since) > now() - unused) continue
        items.push(ruleItem(inForce, index, mesh, { since, use: last === undefined ? undefined : use }))
      }
    }
    items.sort((a, b) =>
      `${a.metadata.namespace}/${a.metadata.name}` < `${b.metadata.namespace}/${b.metadata.name}` ? -1 : 1,
    )
    return cut(items, query, { watchedSince: new Date(watched).toISOString() })
  }

  async #proxies({ namespace, query }: Question): Promise<Listed> {
    const { reports, took, silent } = await this.#sources.observations.proxies(namespace)
    const items = reports.map(({ key, ...report }) => ({
      metadata: nameIn(key),
      spec: { ...report, workload: this.#names.of(key) },
    }))
    const { version, mesh } = this.#sources
    const { names: _, ...settings } = mesh
    const times = [...took].sort((a, b) => a - b)
    const [median, slowest] = [times[Math.floor(times.length / 2)], times.at(-1)]
    return cut(items, query, {
      ...partial(silent),
      // The settings that change what a policy means, for clients that evaluate policies themselves.
      controlPlane: { ...(version === undefined ? {} : { version }), settings },
      ...(median === undefined || slowest === undefined
        ? {}
        : { enforced: { changes: times.length, medianMs: Math.round(median), slowestMs: Math.round(slowest) } }),
    })
  }

  #readiness({ namespace, query }: Question): Listed {
    const window = spanIn(query, "window") ?? WINDOW_MS
    if (window > MAX_WINDOW_MS) throw badRequest(`\`window\` may be at most \`90d\`: older calls are not kept`)
    const items = this.readiness(window)
      .filter(one => namespace === undefined || one.namespace === namespace)
      .map(({ namespace: of, name, ...spec }) => ({ metadata: { name, namespace: of }, spec }))
    return cut(items, query, { watchedSince: new Date(this.#watchedSince()).toISOString() })
  }

  async #listWorkloads({ namespace, query }: Question): Promise<Listed> {
    const { reports, silent } = await this.#sources.observations.proxies(namespace)
    return cut(workloadReports(this.#workloads(reports), namespace).map(reportItem), query, partial(silent))
  }

  #workloads(reports: readonly ProxyReport[]): WorkloadReportSources {
    const { directory, policies, mesh } = this.#sources
    const inForce = [...policies.items.values()].flatMap(({ inForce: document, deleted }) =>
      document === undefined || deleted !== undefined ? [] : [document],
    )
    return {
      workloads: directory.workloads.values(),
      documents: new DocumentsByNamespace(inForce, mesh),
      proxies: new Map(reports.map(report => [report.key, report])),
      mesh,
    }
  }

  async #workload(name: string, namespace: string | undefined): Promise<Item> {
    const { reports, silent } = await this.#sources.observations.proxies(namespace)
    const [found, ...others] = workloadReportsCalled(name, this.#workloads(reports), namespace)
    if (found === undefined) throw notFound(`no workload \`${name}\` found`)
    if (others.length === 0) {
      const { metadata, spec } = reportItem(found)
      return { metadata, spec: { ...spec, ...partial(silent) } }
    }
    const listed = [found, ...others].slice(0, 8).map(one => `${one.namespace}/${one.name}`)
    throw badRequest(`\`${name}\` may be ${listed.join(", ")}; write which`)
  }

  readiness(windowMs: number): readonly WorkloadReadiness[] {
    const { directory, policies, ledger, mesh } = this.#sources
    const now = this.#sources.now()
    return readinessOf({
      workloads: directory.workloads.values(),
      documents: peerAuthentications(policies),
      calls: ledger.calls(),
      mesh,
      since: now - windowMs,
      now,
      observed: workload => ledger.observed(workload),
      proxies: this.#sources.proxies.proxies,
    })
  }

  /** Names, in sentences, the recent callers that a change would cut off. */
  cutOff(change: Omit<PolicyStep, "documents">): readonly string[] {
    if ((change.after ?? change.before)?.kind !== "PeerAuthentication") return []
    const { directory, policies, ledger, mesh, now } = this.#sources
    const workloads = directory.workloads.values()
    const documents = peerAuthentications(policies)
    return cutOffWarnings(
      cutOff(change, { documents, workloads, calls: ledger.calls(), mesh, since: now() - WINDOW_MS }),
    )
  }

  /** Since when calls are recorded. Whether a rule was used before that is unknown. */
  #watchedSince(): number {
    const times = [...this.#sources.stored.items.values()].map(({ metadata }) =>
      Date.parse(metadata.creationTimestamp ?? ""),
    )
    const known = times.filter(Number.isFinite)
    return known.length === 0 ? this.#sources.now() : Math.min(...known)
  }
}

/** Names the replicas that did not answer. */
function partial(silent: readonly string[]): { readonly partial?: readonly string[] } {
  return silent.length === 0 ? {} : { partial: silent }
}

function silentText(silent: readonly string[]): string {
  if (silent.length === 0) return ""
  const [replicas, have] = silent.length === 1 ? ["replica", "has"] : ["replicas", "have"]
  return `; the ${replicas} ${silent.join(", ")} of the control plane ${have} not responded: retry`
}

function reportItem({ namespace, name, ...spec }: NamedReport): Item {
  return { metadata: { name, namespace }, spec }
}

function peerAuthentications({ items }: PolicySource): readonly PolicyDocument[] {
  return [...items.values()].flatMap(({ inForce, deleted }) =>
    inForce?.kind === "PeerAuthentication" && deleted === undefined ? [inForce] : [],
  )
}

function traitsOf({ verdict, workload, caller, address, from, rule, path }: ObservedCall): Traits {
  return {
    verdict: [verdict],
    workload: namesOf(workload),
    caller: [...callerNames(caller), address, from],
    policy: [rule?.policy, ruleText(rule)],
    path: [path],
  }
}

function callItem(call: ObservedCall): Item {
  return { metadata: { ...nameIn(call.workload), name: digestOf(callKey(call)) }, spec: writeCall(call) }
}

function destinationItem(one: WorkloadDestination): Item {
  const name = digestOf(`${one.workload} ${one.destination} ${one.transport}`)
  return { metadata: { ...nameIn(one.workload), name }, spec: one }
}

interface Use {
  readonly since: number
  readonly use: { readonly count: number; readonly firstSeen: number; readonly lastSeen: number } | undefined
}

function ruleItem(document: PolicyDocument, index: number, mesh: MeshConfig, { since, use }: Use): Item {
  const { kind, metadata } = document
  const list = kind === "RequestAuthentication" ? "jwtRules" : "rules"
  return {
    metadata: { namespace: metadata.namespace, name: `${kind.toLowerCase()}.${metadata.name}.${index}` },
    spec: {
      kind,
      policy: `${metadata.namespace}/${metadata.name}`,
      rule: index,
      field: `spec.${list}[${index}]`,
      ...(document.kind === "AuthorizationPolicy" ? { action: document.spec.action ?? "ALLOW" } : {}),
      enforcement: document.kind !== "MeshService" && isShadow(document, mesh) ? "Shadow" : "Enforce",
      count: use?.count ?? 0,
      ...(use === undefined
        ? {}
        : { firstSeen: new Date(use.firstSeen).toISOString(), lastSeen: new Date(use.lastSeen).toISOString() }),
      watchedSince: new Date(since).toISOString(),
    },
  }
}

function cut(items: readonly Item[], query: URLSearchParams, notes: Listed["notes"], most = MAX_LIMIT): Listed {
  const shown = items.slice(0, wholeIn(query, "limit", DEFAULT_LIMIT, most))
  return { items: shown, remaining: items.length - shown.length, notes }
}

const isNamespace = ({ metadata }: PolicyDocument, namespace: string | undefined): boolean =>
  namespace === undefined || metadata.namespace === namespace
