// SPDX-License-Identifier: Apache-2.0
// Answers about what was seen: calls, decisions, the use of rules, proxies, readiness for mutual TLS. Lists are bounded, and
// say so where there is more.

import { createHash } from "node:crypto"
import {
  callKey,
  DocumentsByNamespace,
  isShadow,
  type MeshConfig,
  type PolicyDocument,
  type PolicyStep,
  ruleText,
  type SeenCall,
  writeCall,
} from "@merlon/policy"
import type { Reflected } from "../../kubernetes/reflector.js"
import type { KubernetesObject } from "../../kubernetes/resource-type.js"
import { type ProxyReportSources, proxyReports } from "../../observe/proxy-report.js"
import type { PolicySource } from "../../policies/stored-policy.js"
import { listOf, objectOf, textOf } from "../../registry/foreign.js"
import type { MeshDirectory } from "../../registry/mesh-directory.js"
import type { CallLedger } from "../call-ledger.js"
import { cutOff, tellCutOff } from "../cut-off.js"
import type { Observers, ProxyDecision } from "../observers.js"
import { readinessOf, type WorkloadReadiness } from "../readiness.js"
import { rulesOf } from "../rule-digests.js"
import { WorkloadNames } from "../workload-names.js"
import {
  type NamedReport,
  type WorkloadReportSources,
  workloadReports,
  workloadReportsCalled,
} from "../workload-report.js"
import { badRequest, notFound } from "./api-fault.js"
import { type Filter, readFilter, type Traits } from "./filters.js"
import { type Question, spanIn, wholeIn } from "./question.js"

export interface SeenSources {
  readonly mesh: MeshConfig
  readonly ledger: CallLedger
  readonly observers: Observers
  readonly policies: PolicySource
  readonly directory: MeshDirectory
  readonly proxies: ProxyReportSources
  /** The others report their proxies to whoever leads, and to nobody else. */
  readonly isLeader: () => boolean
  /** The ConfigMaps of the ledger. */
  readonly stored: Reflected<KubernetesObject>
  readonly now: () => number
  /** Of the control plane. */
  readonly version?: string | undefined
}

/** An object of the answer, without what all of its kind share. */
export interface Item {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp?: string }
  readonly spec: object
}

export interface Listed {
  readonly items: readonly Item[]
  /** How many more there are. */
  readonly remaining: number
  /** What else there is to know of the list. */
  readonly notes: { readonly [name: string]: unknown }
}

const DEFAULT_LIMIT = 500
const MAX_LIMIT = 5_000
/** All that the ledger keeps: whoever suggests policies from calls must have seen every one. */
const MAX_CALLS = 20_000
const DAY_MS = 86_400_000
const WINDOW_MS = 7 * DAY_MS

export class SeenAnswers {
  readonly #sources: SeenSources
  readonly #names: WorkloadNames

  constructor(sources: SeenSources) {
    this.#sources = sources
    this.#names = new WorkloadNames(sources.directory)
  }

  list(question: Question): Promise<Listed> | Listed {
    switch (question.resource.name) {
      case "calls":
        return this.#calls(question)
      case "decisions":
        return this.#decisions(question)
      case "rules":
        return this.#rules(question)
      case "proxies":
        return this.#proxies(question)
      case "readiness":
        return this.#readiness(question)
      case "workloads":
        return cut(workloadReports(this.#workloads(), question.namespace).map(reportItem), question.query, {})
      default:
        throw badRequest(`\`${question.resource.name}\` cannot be listed`)
    }
  }

  async get(question: Question): Promise<Item> {
    const { resource, namespace, name = "" } = question
    if (resource.name === "decisions") {
      const found = await this.#sources.observers.find(name, namespace)
      if (found !== undefined) return this.#decisionItem(found)
      throw notFound(
        `no proxy that is connected here has the decision \`${name}\` among its last thousand${this.#elsewhere()}`,
      )
    }
    if (resource.name === "workloads") return this.#workload(name, namespace)
    const { items } = await this.list({ ...question, query: new URLSearchParams({ limit: String(MAX_LIMIT) }) })
    const item = items.find(({ metadata }) => metadata.name === name)
    if (item !== undefined) return item
    throw notFound(`there is no \`${name}\` among ${resource.name}`)
  }

  /** Proxies tell the replica that they are connected to, and no other. */
  get isPartial(): boolean {
    const { observers, proxies, isLeader } = this.#sources
    return !isLeader() || observers.connected < proxies.ledger.proxies.size
  }

  #elsewhere(): string {
    if (!this.isPartial) return ""
    if (!this.#sources.isLeader()) return "; other replicas of the control plane have proxies of their own: ask again"
    const [here, all] = [this.#sources.observers.connected, this.#sources.proxies.ledger.proxies.size]
    return `; ${all - here} of ${all} proxies are connected to other replicas of the control plane: ask again, another may answer`
  }

  /** Returns how to stop. */
  follow({ namespace, query }: Question, decided: (items: readonly Item[], leftOut: number) => void): () => void {
    const filter = readFilter(query)
    return this.#sources.observers.follow({
      namespace,
      decided: (decisions, leftOut) =>
        decided(
          decisions.filter(decision => filter(this.#traits(decision))).map(decision => this.#decisionItem(decision)),
          leftOut,
        ),
    })
  }

  #calls({ namespace, query }: Question): Listed {
    const filter = readFilter(query)
    const span = spanIn(query, "since")
    const since = span === undefined ? 0 : this.#sources.now() - span
    const found = this.#sources.ledger
      .calls()
      .filter(call => isIn(call.workload, namespace) && call.lastSeen >= since && filter(traitsOf(call)))
      .sort((a, b) => b.lastSeen - a.lastSeen)
    const { forgotten, traffic } = this.#sources.ledger
    return cut(found.map(callItem), query, { forgotten, traffic: traffic.of(namespace) }, MAX_CALLS)
  }

  async #decisions({ namespace, query }: Question): Promise<Listed> {
    const filter: Filter = readFilter(query)
    const limit = wholeIn(query, "limit", 100, MAX_LIMIT)
    const recent = await this.#sources.observers.recent(namespace, MAX_LIMIT)
    const found = recent.filter(decision => filter(this.#traits(decision)))
    const items = found.slice(0, limit).map(decision => this.#decisionItem(decision))
    const notes = {
      proxies: { asked: this.#sources.observers.connected, known: this.#sources.proxies.ledger.proxies.size },
    }
    return { items, remaining: found.length - items.length, notes }
  }

  #rules({ namespace, query }: Question): Listed {
    const { now, ledger, policies, mesh } = this.#sources
    const unused = spanIn(query, "unusedFor")
    const uses = ledger.rules()
    const watched = this.#watchedSince()
    const items: Item[] = []
    for (const { inForce, object, deleted } of policies.items.values()) {
      if (inForce === undefined || deleted !== undefined || !isNamespace(inForce, namespace)) continue
      const since = Math.max(watched, changedAt(object))
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

  #proxies({ namespace, query }: Question): Listed {
    const reports = proxyReports(this.#sources.proxies, "", Number.MAX_SAFE_INTEGER)
    const items = reports
      .filter(({ key }) => isIn(key, namespace))
      .map(({ key, ...report }) => ({ metadata: nameIn(key), spec: { ...report, workload: this.#names.of(key) } }))
    const { version, isLeader } = this.#sources
    const took = [...(this.#sources.proxies.propagation.recent ?? [])].sort((a, b) => a - b)
    const [median, slowest] = [took[Math.floor(took.length / 2)], took.at(-1)]
    return cut(items, query, {
      ...(isLeader() ? {} : { partial: true }),
      ...(version === undefined ? {} : { controlPlane: { version } }),
      ...(median === undefined || slowest === undefined
        ? {}
        : { enforced: { changes: took.length, medianMs: Math.round(median), slowestMs: Math.round(slowest) } }),
    })
  }

  #readiness({ namespace, query }: Question): Listed {
    const since = this.#sources.now() - (spanIn(query, "window") ?? WINDOW_MS)
    const items = this.readiness(since)
      .filter(one => namespace === undefined || one.namespace === namespace)
      .map(({ namespace: of, name, ...spec }) => ({ metadata: { name, namespace: of }, spec }))
    return cut(items, query, { watchedSince: new Date(this.#watchedSince()).toISOString() })
  }

  #workloads(): WorkloadReportSources {
    const { directory, policies, proxies, mesh } = this.#sources
    const inForce = [...policies.items.values()].flatMap(({ inForce: document, deleted }) =>
      document === undefined || deleted !== undefined ? [] : [document],
    )
    return {
      workloads: directory.workloads.values(),
      documents: new DocumentsByNamespace(inForce, mesh),
      proxies: new Map(proxyReports(proxies, "", Number.MAX_SAFE_INTEGER).map(report => [report.key, report])),
      mesh,
    }
  }

  #workload(name: string, namespace: string | undefined): Item {
    const [found, ...others] = workloadReportsCalled(name, this.#workloads(), namespace)
    if (found === undefined) throw notFound(`there is no \`${name}\` among workloads`)
    if (others.length === 0) return reportItem(found)
    const listed = [found, ...others].slice(0, 8).map(one => `${one.namespace}/${one.name}`)
    throw badRequest(`\`${name}\` may be ${listed.join(", ")}; write which`)
  }

  readiness(since: number): readonly WorkloadReadiness[] {
    const { directory, policies, ledger, mesh } = this.#sources
    const documents = peerAuthentications(policies)
    return readinessOf({ workloads: directory.workloads.values(), documents, calls: ledger.calls(), mesh, since })
  }

  /** Whom a change would cut off, of those who called lately, in sentences. */
  cutOff(change: Omit<PolicyStep, "documents">): readonly string[] {
    if ((change.after ?? change.before)?.kind !== "PeerAuthentication") return []
    const { directory, policies, ledger, mesh, now } = this.#sources
    const workloads = directory.workloads.values()
    const documents = peerAuthentications(policies)
    return tellCutOff(cutOff(change, { documents, workloads, calls: ledger.calls(), mesh, since: now() - WINDOW_MS }))
  }

  /** Since when calls are kept: what was not used before that nobody knows. */
  #watchedSince(): number {
    const times = [...this.#sources.stored.items.values()].map(({ metadata }) =>
      Date.parse(metadata.creationTimestamp ?? ""),
    )
    const known = times.filter(Number.isFinite)
    return known.length === 0 ? this.#sources.now() : Math.min(...known)
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

  #decisionItem({ workload, explanation, ...decision }: ProxyDecision): Item {
    const { namespace } = nameIn(workload)
    const name = decision.id ?? digestOf(`${workload} ${decision.time} ${decision.method} ${decision.path}`)
    return {
      metadata: { name, namespace, creationTimestamp: decision.time },
      spec: { workload, ...decision, ...(explanation === undefined ? {} : { explanation: jsonIn(explanation) }) },
    }
  }
}

function reportItem({ namespace, name, ...spec }: NamedReport): Item {
  return { metadata: { name, namespace }, spec }
}

function peerAuthentications({ items }: PolicySource): readonly PolicyDocument[] {
  return [...items.values()].flatMap(({ inForce, deleted }) =>
    inForce?.kind === "PeerAuthentication" && deleted === undefined ? [inForce] : [],
  )
}

function traitsOf({ verdict, workload, caller, address, from, rule, path }: SeenCall): Traits {
  return {
    verdict: [verdict],
    workload: namesOf(workload),
    caller: [...callerNames(caller), address, from],
    policy: [rule?.policy, ruleText(rule)],
    path: [path],
  }
}

/** With and without its namespace. */
function namesOf(...keys: readonly string[]): readonly string[] {
  return keys.flatMap(key => [key, key.slice(key.indexOf("/") + 1)])
}

function callerNames(uri: string | undefined): readonly (string | undefined)[] {
  const principal = uri?.replace(/^spiffe:\/\//, "")
  const [, namespace, account] = /\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(uri ?? "") ?? []
  return [
    uri,
    principal,
    principal?.replace(/^[^/]+\//, ""),
    namespace === undefined ? undefined : `${namespace}/${account}`,
  ]
}

function callItem(call: SeenCall): Item {
  return { metadata: { ...nameIn(call.workload), name: digestOf(callKey(call)) }, spec: writeCall(call) }
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

/** When anybody but a status was last written, as far as the object tells. */
function changedAt({ metadata }: KubernetesObject): number {
  const times = listOf(metadata.managedFields).flatMap(entry => {
    const { time, subresource } = objectOf(entry)
    return subresource === "status" ? [] : [Date.parse(textOf(time) ?? "")]
  })
  const known = [Date.parse(metadata.creationTimestamp ?? ""), ...times].filter(Number.isFinite)
  return known.length === 0 ? 0 : Math.max(...known)
}

function cut(items: readonly Item[], query: URLSearchParams, notes: Listed["notes"], most = MAX_LIMIT): Listed {
  const shown = items.slice(0, wholeIn(query, "limit", DEFAULT_LIMIT, most))
  return { items: shown, remaining: items.length - shown.length, notes }
}

function nameIn(key: string): { readonly namespace: string; readonly name: string } {
  const at = key.indexOf("/")
  return { namespace: key.slice(0, at), name: key.slice(at + 1) }
}

const isIn = (key: string, namespace: string | undefined): boolean =>
  namespace === undefined || key.startsWith(`${namespace}/`)

const isNamespace = ({ metadata }: PolicyDocument, namespace: string | undefined): boolean =>
  namespace === undefined || metadata.namespace === namespace

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 20)

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
