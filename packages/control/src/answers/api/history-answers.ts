// SPDX-License-Identifier: Apache-2.0
// Answers about who changed policies: entries of the histories, and the policies at two moments. Histories are read on
// demand, a few at a time, since together they may be large.

import type { MeshNames } from "@merlon/policy/mesh"
import { KINDS, type PolicyDocument } from "@merlon/policy/resources"
import { brokenLinks, type HistoryEntry } from "../../history/chain.js"
import { type CurrentPolicy, documentsAt, type Moment } from "../../history/documents-at.js"
import type { StoredEvidence } from "../../history/evidence.js"
import type { HistoryStore } from "../../history/history-store.js"
import { bodyBefore, type NamespaceHistory } from "../../history/namespace-history.js"
import { bodyDigest, bodyOf } from "../../history/policy-body.js"
import type { KubernetesClient } from "../../kubernetes/client.js"
import { policyTypes } from "../../kubernetes/resource-type.js"
import { writtenAt } from "../../kubernetes/written-at.js"
import { isSecurityKind, policyKey } from "../../policies/stored-policy.js"
import { textOf } from "../../registry/foreign.js"
import { badRequest, notFound } from "./answers-api-error.js"
import type { Item } from "./item.js"
import type { Listed } from "./observed-answers.js"
import { type Question, spanIn, wholeIn } from "./question.js"

export interface HistorySources {
  readonly client: Pick<KubernetesClient, "list">
  readonly names: MeshNames
  readonly store: Pick<HistoryStore, "read" | "evidence" | "since" | "isOn" | "maxEntries">
  readonly namespaces: () => readonly string[]
  readonly now: () => number
}

/** Changes to apply to the stored policies. */
export interface PolicyOverlay {
  readonly documents: readonly PolicyDocument[]
  readonly remove: readonly string[]
}

export interface TwoMoments {
  readonly from: PolicyOverlay
  readonly to: PolicyOverlay
  readonly gaps: readonly string[]
}

const NOTHING: PolicyOverlay = { documents: [], remove: [] }
const DEFAULT_LIMIT = 500
const MAX_LIMIT = 5_000
const PARALLEL = 8
export const TURN_ON = "start the control plane with `--history-entries 200` to turn it on"

export class HistoryAnswers {
  readonly #sources: HistorySources

  constructor(sources: HistorySources) {
    this.#sources = sources
  }

  /** Newest first. */
  async list({ namespace, query }: Question): Promise<Listed> {
    const { store, now } = this.#sources
    const span = spanIn(query, "since")
    const since = span === undefined ? 0 : now() - span
    const limit = wholeIn(query, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    let found: HistoryEntry[] = []
    let count = 0
    for await (const { entries } of this.#histories(namespace)) {
      const wanted = entries.filter(({ time }) => Date.parse(time) >= since)
      count += wanted.length
      // Holds no more than will be shown.
      found = [...found, ...wanted].sort(newestFirst).slice(0, limit)
    }
    const start = await store.since()
    const history = {
      enabled: store.isOn,
      entriesPerNamespace: store.maxEntries,
      ...(start === undefined ? {} : { since: new Date(start).toISOString() }),
    }
    return { items: found.map(itemOf), remaining: count - found.length, notes: { history } }
  }

  /** Includes the document before the change and, with `?evidence=true`, the certificate with its policies. */
  async get({ namespace, name = "", query }: Question): Promise<Item> {
    for await (const history of this.#histories(namespace)) {
      const entry = history.entries.find(one => nameOf(one) === name)
      if (entry === undefined) continue
      const { metadata, spec } = itemOf(entry)
      const body = bodyBefore(history, entry)
      const evidence = query.get("evidence") === "true" ? { evidence: await this.#evidenceOf(entry) } : {}
      return { metadata, spec: { ...spec, ...(body === undefined ? {} : { document: JSON.parse(body) }), ...evidence } }
    }
    throw notFound(`no change \`${name}\` found`)
  }

  /**
   * The policies at two moments, as differences from the stored ones. The second moment defaults to now. With gaps in
   * the history, the policies of that time are unknown.
   */
  async between(since: unknown, until: unknown, namespace: string | undefined): Promise<TwoMoments> {
    const { store, names, now } = this.#sources
    if (!store.isOn) throw badRequest(`the history of policies is off; ${TURN_ON}`)
    const start = timeIn(since, "since")
    const end = until === undefined ? now() : timeIn(until, "until")
    if (start > end) throw badRequest("spec.since: is later than spec.until")
    const begun = await store.since()
    if (begun === undefined || start < begun) {
      const from = begun === undefined ? "from an unknown time on" : `from ${new Date(begun).toISOString()} on`
      return { from: NOTHING, to: NOTHING, gaps: [`changes are recorded ${from}; choose a later moment`] }
    }
    const moments: { readonly from: Moment; readonly to: Moment }[] = []
    for (const [of, policies] of await this.#current(namespace)) {
      const history = await store.read(of)
      const broken = brokenLinks(history.entries).map(problem => `history of namespace \`${of}\`: ${problem}`)
      const at = (time: number): Moment => {
        const { documents, gaps } = documentsAt(time, history, policies, names)
        return { documents, gaps: [...broken, ...gaps] }
      }
      moments.push({ from: at(start), to: at(end) })
    }
    return {
      from: overlay(moments.map(({ from }) => from)),
      to: overlay(moments.map(({ to }) => to)),
      gaps: [...new Set(moments.flatMap(({ from, to }) => [...from.gaps, ...to.gaps]))],
    }
  }

  async #evidenceOf({ certificate, namespace }: HistoryEntry): Promise<StoredEvidence> {
    if (certificate === undefined) throw notFound("this change has no certificate: an older version recorded it")
    if ("missing" in certificate) throw notFound(`this change has no certificate: ${certificate.missing}`)
    const evidence = await this.#sources.store.evidence(namespace, certificate.digest)
    if (evidence !== undefined) return evidence
    throw notFound(
      "the certificate of this change is not kept any more; `merlonctl diff --certificate` makes a new one",
    )
  }

  /** By namespace, including those without a policy. Workloads of a namespace need its own policies and the root's. */
  async #current(namespace: string | undefined): Promise<ReadonlyMap<string, readonly CurrentPolicy[]>> {
    const { client, names, namespaces } = this.#sources
    const wanted = namespace === undefined ? namespaces() : [...new Set([namespace, names.rootNamespace])]
    const found = new Map<string, CurrentPolicy[]>(wanted.map(of => [of, []]))
    const types = policyTypes(names)
    for (const { kind } of KINDS) {
      if (!isSecurityKind(kind)) continue
      const lists =
        namespace === undefined
          ? [await client.list(types[kind])]
          : await Promise.all(wanted.map(of => client.list(types[kind], { namespace: of })))
      for (const object of lists.flatMap(({ items }) => items)) {
        const { name, namespace: of = "" } = object.metadata
        // Items of a list have no `kind` of their own.
        const digest = bodyDigest(bodyOf({ ...object, kind }, names))
        const policy = {
          key: policyKey(kind, of, name),
          kind,
          namespace: of,
          name,
          digest,
          changedAt: writtenAt(object),
        }
        found.set(of, [...(found.get(of) ?? []), policy])
      }
    }
    return found
  }

  async *#histories(namespace: string | undefined): AsyncGenerator<NamespaceHistory> {
    const { store, namespaces } = this.#sources
    const wanted = namespace === undefined ? namespaces() : [namespace]
    for (let at = 0; at < wanted.length; at += PARALLEL) {
      yield* await Promise.all(wanted.slice(at, at + PARALLEL).map(one => store.read(one)))
    }
  }
}

function overlay(moments: readonly Moment[]): PolicyOverlay {
  const all = moments.flatMap(({ documents }) => [...documents])
  return {
    documents: all.flatMap(([, document]) => document ?? []),
    remove: all.flatMap(([key, document]) => (document === undefined ? [key] : [])),
  }
}

function timeIn(value: unknown, field: string): number {
  const time = Date.parse(textOf(value) ?? "")
  if (Number.isFinite(time)) return time
  throw badRequest(`spec.${field}: must be a time such as \`2026-05-01T12:00:00Z\``)
}

function nameOf({ sequence, digest }: HistoryEntry): string {
  return `${sequence}-${digest.slice(0, 12)}`
}

function itemOf(entry: HistoryEntry): Item {
  const { namespace, time } = entry
  return { metadata: { name: nameOf(entry), namespace, creationTimestamp: time }, spec: entry }
}

function newestFirst(a: HistoryEntry, b: HistoryEntry): number {
  return Date.parse(b.time) - Date.parse(a.time) || b.sequence - a.sequence
}
